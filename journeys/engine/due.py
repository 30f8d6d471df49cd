"""What work has made due, for whoever commits it to wake the workers for (wakeups.wake)."""

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
class Due:
    """Jobs to be decided, and whether an enrollment is to be walked and a webhook to be sent."""

    jobs: Sequence[QueuedEntry] = ()
    walk: bool = False
    webhooks: bool = False

    def __or__(self, other: "Due") -> "Due":
        return Due(
            jobs=[*self.jobs, *other.jobs], walk=self.walk or other.walk, webhooks=self.webhooks or other.webhooks
        )
