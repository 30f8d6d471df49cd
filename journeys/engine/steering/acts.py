"""What was done, by whom and why; and what that did to a journey, or would do, in numbers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from django.db.models.functions import Now

from engage.audit.recording import Change, record
from engage.database.object_ids import ObjectId
from engage.models import AuditEntry
from journeys.engine.counts.stats import Span, journey_stats
from journeys.models import Journey, SteeredHost, SteeringAct, Trigger

GUARD = "guard"


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
    record(Change(action=AuditEntry.Action.STEERED, workspace_id=about.workspace_id, kind=name, id=which, note=note))
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
    """A journey after the call, and what the call did, in numbers."""

    schema_name: ClassVar = "Steering"

    journey_id: Annotated[ObjectId, "The journey's id."]
    state: Annotated[
        Journey.State,
        "`active`: customers enter and advance. `closed`: no customer enters, and those inside go on. `held`: no "
        "customer advances. `aborted`: no customer enters, and none is inside.",
    ]
    dry_run: Annotated[bool, "Whether this is only what the call would do."] = False
    changed: Annotated[bool, "False if there was nothing to do: the journey was like that before."]
    queued: Annotated[int, "The number of jobs that wait for their decision."]
    inside: Annotated[int, "The number of enrollments that have not ended."]
    settled: Annotated[
        bool,
        "False if a step or a decision that had begun before the call has not ended: it may yet be written. Call again "
        "to see that it has.",
    ] = True
    released: Annotated[int, "How many became due while the journey was held, and go on now."] = 0
    released_until: Annotated[datetime | None, "When about the last of them goes on, if they do so at a pace."] = None
    exited: Annotated[int, "How many enrollments the call has ended."] = 0


def queued_and_inside(journey: Journey) -> tuple[int, int]:
    """How many jobs wait for their decision, and how many enrollments have not ended."""
    stats = journey_stats(journey, Span())
    return stats.queued, stats.active
