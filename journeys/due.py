"""What a transaction has made due, for its caller to wake the workers for after the commit (wakeups.py)."""

from collections.abc import Sequence
from dataclasses import dataclass

from journeys.models import Chunk


@dataclass(frozen=True, kw_only=True)
class QueuedEntry:
    """An entry's trigger and job, in the caller's transaction."""

    trigger_id: str
    job_id: str
    lane: Chunk.Lane


@dataclass(frozen=True, kw_only=True)
class Reaction:
    """What became due: customers queued for journeys, and whether an enrollment is due to be walked."""

    queued: Sequence[QueuedEntry] = ()
    somebody_walks: bool = False

    def __add__(self, other: "Reaction") -> "Reaction":
        return Reaction(
            queued=[*self.queued, *other.queued], somebody_walks=self.somebody_walks or other.somebody_walks
        )
