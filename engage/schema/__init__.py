"""The parts of the OpenAPI document that the calls of every app share.

Each app has a module `schema` that describes its calls with `calls.ServerCall` and `calls.SdkCall`. Answers are
described by the types that the code builds them with, bodies by the serializers that read them, and errors by the
refusals that are raised, so the document repeats nothing that the code already states.
"""

from engage.schema import access, bodies, components  # importing them registers them with drf-spectacular

__all__ = ["access", "bodies", "components"]
