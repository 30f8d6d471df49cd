"""What an act did to a journey, or would do, in numbers."""

from dataclasses import dataclass
from datetime import datetime

from journeys.counts.stats import Span, journey_stats
from journeys.models import Journey


@dataclass(frozen=True, kw_only=True)
class Steered:
    """A journey after an act, or as it would be. `changed` is False if there was nothing to do.

    `queued` jobs wait for their decision, and `inside` are the enrollments that have not ended. `released` are those
    that became due while it was held, and the last of them goes on at about `released_until`; `exited` have left.
    """

    journey_id: str
    state: Journey.State
    changed: bool
    queued: int
    inside: int
    released: int = 0
    released_until: datetime | None = None
    exited: int = 0


def queued_and_inside(journey: Journey) -> tuple[int, int]:
    """How many jobs wait for their decision, and how many enrollments have not ended."""
    stats = journey_stats(journey, Span())
    return stats.queued, stats.active
