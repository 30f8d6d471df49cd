"""The parts of the OpenAPI document that the calls of every app share.

Calls are described by their definitions (engage/calls/), answers and bodies by the typed objects that the code writes
and reads, and errors by the refusals that are raised, so the document repeats nothing that the code already states.

1. responses.py, every_call.py, headers.py: a call's failures, and what all have in common.
2. shapes.py, objects.py, components.py: the types of answers; bodies.py: those of requests; access.py: credentials.
3. forms.py: the plain and the strict document; sharing.py and finishing.py: the last steps.
"""

from engage.calls.schema import access, bodies, components

__all__ = ["access", "bodies", "components"]
