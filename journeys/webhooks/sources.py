"""What sends a webhook: each source has a circuit of its own at a host.

A source is a text that begins with its kind. So far each is a step of a journey.
"""

_STEP = "step"


def source_of_step(*, journey_id: str, step_id: str) -> str:
    """At most 150 characters."""
    return f"{_STEP}:{journey_id}:{step_id}"


def step_of(source: str) -> tuple[str, str] | None:
    """The ids of its journey and its step; None for a source of another kind, or one that is not known."""
    kind, _, named = source.partition(":")
    journey_id, _, step_id = named.partition(":")
    return (journey_id, step_id) if kind == _STEP else None
