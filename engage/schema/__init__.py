"""How the interface is described in the OpenAPI document: what the calls of every app share.

Each app has a module `schema` that describes its calls with `calls.ServerCall` and `calls.SdkCall`. The shapes of the
answers are the types that the code builds them with; the bodies are the serializers that read them; the errors are the
refusals that are raised. So nothing is said here that the code says already.
"""

from engage.schema import access, bodies, components  # they make themselves known to drf-spectacular

__all__ = ["access", "bodies", "components"]
