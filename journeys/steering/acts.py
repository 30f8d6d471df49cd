"""What was done, by whom and why."""

from django.db.models.functions import Now

from engage.audit.recording import Deed, record
from engage.models import ApiKey, AuditEntry
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
) -> None:
    """Records an act with its numbers, and has the audit know, in the transaction that does it."""
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
