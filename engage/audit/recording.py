"""Writes entries of the audit: in the transaction of the change, with one insert for all that is changed at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Model
from django.utils import timezone

from engage.audit.acting import Actor, current_actor
from engage.audit.facts import Changes, Facts, changes_between
from engage.database.table import is_unnamed
from engage.models import AuditEntry, Workspace
from engage.process.request_log import current_request_id

_LONGEST_ID, _LONGEST_NAME = 255, 300


@dataclass(frozen=True, kw_only=True)
class Change:
    """What was done to what. `named` is empty where the name would be personal."""

    action: AuditEntry.Action
    workspace_id: str | None
    kind: str
    id: str = ""
    named: str = ""
    changes: Changes = field(default_factory=dict)
    note: str = ""


def change(action: AuditEntry.Action, record: Model, *, changes: Changes | None = None, note: str = "") -> Change:
    """Something that was done to a record; a person is named by their id alone."""
    kind = str(record._meta.model_name)
    workspace_id = record.pk if isinstance(record, Workspace) else getattr(record, "workspace_id", None)
    return Change(
        action=action,
        workspace_id=workspace_id,
        kind=kind,
        id=str(record.pk),
        named="" if is_unnamed(record.__class__) else str(record),  # not `type`: a request's user is a lazy object
        changes=changes or {},
        note=note,
    )


def saved(record: Model, *, before: Facts | None, after: Facts) -> list[Change]:
    """That a record was made (`before` None) or changed; empty if nothing differs."""
    if before is None:
        return [change(AuditEntry.Action.CREATED, record, changes=changes_between({}, after))]
    changes = changes_between(before, after)
    return [change(AuditEntry.Action.CHANGED, record, changes=changes)] if changes else []


def record(*changes: Change, by: Actor | None = None) -> Sequence[AuditEntry]:
    """Writes the entries, in one statement. Belongs into the transaction of what was done."""
    actor = by or current_actor()
    now = timezone.now()
    days = settings.RETAIN_AUDIT_DAYS
    written: dict[str, Any] = {
        "at": now,
        "kept_until": now + timedelta(days=days) if days else None,
        "actor_kind": actor.kind,
        "actor_id": actor.id,
        "actor_name": actor.name,
        "address": actor.address,
        "request_id": current_request_id(),
    }
    entries = [
        AuditEntry(
            action=one.action,
            workspace_id=one.workspace_id,
            object_kind=one.kind,
            object_id=one.id[:_LONGEST_ID],  # a host with its port may be four longer
            object_name=one.named[:_LONGEST_NAME],
            changes=one.changes or None,
            note=one.note,
            **written,
        )
        for one in changes
    ]
    return AuditEntry.objects.bulk_create(entries) if entries else []
