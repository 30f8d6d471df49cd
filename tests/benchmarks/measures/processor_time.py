"""What a call costs in processor time, whoever spends it: less noisy than how many are served in a second."""

from collections.abc import Callable, Sequence

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.load import Load
from tests.benchmarks.measures.bridge import act
from tests.benchmarks.measures.single import trigger
from tests.benchmarks.processor import spent_by
from tests.benchmarks.service import Effort, Service


def measure(service: Service, effort: Effort) -> list[Figure]:
    """In turn: a trigger until it is decided, and bridge actions; medians of the rounds."""
    works: dict[str, tuple[Callable[[], Load], Sequence[str]]] = {
        "a single trigger, decided": (lambda: _decided(service, seconds=effort.seconds), ["web", "worker"]),
        "a bridge action, close": (lambda: act(service, "close", seconds=effort.seconds), ["web"]),
        "a bridge action, track_event": (lambda: act(service, "track_event", seconds=effort.seconds), ["web"]),
    }
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in works}
    for work, _ in works.values():
        work()
    for _ in range(effort.rounds):
        for name, (work, processes) in works.items():
            seen, spent = spent_by(service, work)
            costs[name].append({by: 1000 * spent / seen.number for by, spent in spent.by(*processes).items()})
    return [
        Figure(
            measure=f"processor time of {name}", value=middle([sum(one.values()) for one in those]), unit="ms",
            notes={by: middle([one[by] for one in those]) for by in those[0]},
        )
        for name, those in costs.items()
    ]  # fmt: skip


def _decided(service: Service, *, seconds: int) -> Load:
    seen = trigger(service, seconds=seconds)
    service.settle()
    return seen
