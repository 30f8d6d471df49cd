"""What was done, by whom and why."""

from collections.abc import Mapping

from django.db.models.functions import Now

from engage.audit.recording import Deed, record
from engage.models import ApiKey, AuditEntry
from journeys.models import SteeringAct

GUARD = "guard"
_LONGEST_ACTOR = 200


def by_key(key: ApiKey) -> str:
    """The actor of a call."""
    return f"key {key.name} ({key.prefix}…)"[:_LONGEST_ACTOR]


def by_staff(username: str) -> str:
    """The actor of something that was done in the admin, or with a command."""
    return f"staff {username}"[:_LONGEST_ACTOR]


def record_act(
    kind: SteeringAct.Kind,
    *,
    workspace_id: str,
    actor: str,
    reason: str,
    journey_id: str | None = None,
    trigger_id: str | None = None,
    host: str = "",
    numbers: Mapping[str, float | None] | None = None,
) -> None:
    """Records an act, and has the audit know, in the transaction that does it."""
    kinds = {"journey": journey_id, "trigger": trigger_id, "steeredhost": host}
    about, which = next((name, id_) for name, id_ in kinds.items() if id_)
    steered = AuditEntry.Action.STEERED
    told = kind.label.capitalize()
    record(Deed(action=steered, workspace_id=workspace_id, kind=about, id=which or "", note=f"{told}."))
    SteeringAct.objects.create(
        workspace_id=workspace_id,
        journey_id=journey_id,
        trigger_id=trigger_id,
        host=host,
        kind=kind,
        actor=actor,
        reason=reason,
        numbers=dict(numbers or {}),
        at=Now(),
    )
