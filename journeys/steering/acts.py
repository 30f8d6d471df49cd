"""What was done, by whom and why; and what that did to a journey, or would do, in numbers."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Now

from engage.audit.recording import Deed, record
from engage.models import ApiKey, AuditEntry
from journeys.counts.stats import Span, journey_stats
from journeys.models import Journey, SteeredHost, SteeringAct, Trigger

GUARD = "guard"
_LONGEST_ACTOR = 200


def by_key(key: ApiKey) -> str:
    """The actor of a call."""
    return f"key {key.name} ({key.prefix}…)"[:_LONGEST_ACTOR]


def by_staff(username: str) -> str:
    """The actor of something that was done in the admin, or with a command."""
    return f"staff {username}"[:_LONGEST_ACTOR]


def record_act(
    kind: SteeringAct.Kind, about: Journey | Trigger | SteeredHost, *, actor: str, reason: str, **numbers: float | None
) -> SteeringAct:
    """Records an act with its numbers, and has the audit know, in the transaction that does it. Returns the act."""
    act = SteeringAct(kind=kind, workspace_id=about.workspace_id, actor=actor, reason=reason, numbers=numbers, at=Now())
    match about:
        case Journey():
            name, which, act.journey_id = "journey", about.id, about.id
        case Trigger():
            name, which, act.journey_id, act.trigger_id = "journey", about.journey_id, about.journey_id, about.id
        case SteeredHost():
            name, which, act.host = "steeredhost", about.host, about.host
    note = f"{kind.label.capitalize()}."
    record(Deed(action=AuditEntry.Action.STEERED, workspace_id=about.workspace_id, kind=name, id=which, note=note))
    act.save(force_insert=True)
    return act


_OPENING = (SteeringAct.Kind.CLOSE, SteeringAct.Kind.ABORT, SteeringAct.Kind.ACTIVATE)


def closed_by(journey: Journey) -> SteeringAct | None:
    """The act that closed or aborted the journey, if it is not active and nobody has activated it since.

    None as well if a seed file closed it, or made it so: that is no act.
    """
    acts = SteeringAct.objects.filter(journey=journey, kind__in=_OPENING).order_by("-at", "-id")
    last = None if journey.active else acts.first()
    return None if last is None or last.kind == SteeringAct.Kind.ACTIVATE else last


@dataclass(frozen=True, kw_only=True)
class Steered:
    """A journey after an act, or as it would be. `changed` is False if there was nothing to do.

    `queued` jobs wait for their decision, and `inside` are the enrollments that have not ended. `released` are those
    that became due while it was held, and the last of them goes on at about `released_until`; `exited` have left.

    It is not `settled` if a walker or decider who had begun before did not end: a step may yet be written, or somebody
    let in.
    """

    journey_id: str
    state: Journey.State
    changed: bool
    queued: int
    inside: int
    settled: bool = True
    released: int = 0
    released_until: datetime | None = None
    exited: int = 0


def queued_and_inside(journey: Journey) -> tuple[int, int]:
    """How many jobs wait for their decision, and how many enrollments have not ended."""
    stats = journey_stats(journey, Span())
    return stats.queued, stats.active
