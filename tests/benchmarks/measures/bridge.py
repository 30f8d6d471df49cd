"""Bridge actions per second from 16 connections: one that closes a message, and one that records an event."""

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.load import Load, load
from tests.benchmarks.measures.single import nothing
from tests.benchmarks.service import CUSTOMERS, Effort, Service

_BODIES = {
    "close": '{"external_id":"user-{n}","messageId":"spring-sale","actionType":"close"}',
    "track_event": '{"external_id":"user-{n}","messageId":"spring-sale","actionType":"track_event",'
    '"actionData":{"eventName":"banner_clicked","eventProperties":{"place":"top"}}}',
}


def measure(service: Service, effort: Effort) -> list[Figure]:
    """In turn: the view that does nothing, then each kind of action; medians of the rounds."""
    floors: list[float] = []
    seen: dict[str, list[float]] = {kind: [] for kind in _BODIES}
    for kind in _BODIES:
        act(service, kind, seconds=2)
    for _ in range(effort.rounds):
        floors.append(nothing(service, seconds=effort.seconds).per_second)
        for kind, figures in seen.items():
            figures.append(act(service, kind, seconds=effort.seconds).per_second)
    floor = middle(floors)
    return [
        Figure(
            measure=f"bridge actions, {kind}", value=middle(figures), unit="/s",
            beside="a view that does nothing", beside_value=floor, ratio=middle(figures) / floor, at_least=0.3,
        )
        for kind, figures in seen.items()
    ]  # fmt: skip


def act(service: Service, kind: str, *, seconds: int) -> Load:
    url = f"{service.base}/api/v1/sdk/bridge/action"
    seen = load(url, headers=service.sdk_headers, body=_BODIES[kind], customers=CUSTOMERS, seconds=seconds)
    return seen.all_accepted()
