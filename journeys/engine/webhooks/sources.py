"""What sends a webhook: each source has a circuit of its own at a host.

A source is a text that begins with its kind: a step of a journey, a connection, or a subscription.
"""

_STEP, _CONNECTION, _SUBSCRIPTION = "step", "connection", "subscription"


def source_of_step(*, journey_id: str, step_id: str) -> str:
    """At most 150 characters."""
    return f"{_STEP}:{journey_id}:{step_id}"


def source_of_connection(connection_id: str) -> str:
    """As claims.py knows those that have a rate."""
    return f"{_CONNECTION}:{connection_id}"


def connection_of(source: str) -> str | None:
    """The id of the connection; None for a source of another kind."""
    kind, _, connection_id = source.partition(":")
    return connection_id if kind == _CONNECTION else None


def source_of_subscription(subscription_id: str) -> str:
    """As the claim of pushes knows it."""
    return f"{_SUBSCRIPTION}:{subscription_id}"


def subscription_of(source: str) -> str | None:
    """The id of the subscription; None for a source of another kind."""
    kind, _, subscription_id = source.partition(":")
    return subscription_id if kind == _SUBSCRIPTION else None


def step_of(source: str) -> tuple[str, str] | None:
    """The ids of its journey and its step; None for a source of another kind, or one that is not known."""
    kind, _, named = source.partition(":")
    journey_id, _, step_id = named.partition(":")
    return (journey_id, step_id) if kind == _STEP else None
