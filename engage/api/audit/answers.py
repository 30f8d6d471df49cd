"""The API's answer about the audit."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from engage.database.object_ids import ObjectId
from engage.json.instants import Instant, iso_utc
from engage.json.keywords import known
from engage.models import ActorKind, AuditEntry

AUDIT_MESSAGE = "Who did what, in the order in which it became known."


class AuditActor(TypedDict):
    """Who did something."""

    kind: Annotated[str, "`stranger` is somebody who is not logged in.", known(ActorKind.values)]
    id: Annotated[str | None, "The id of the key or of the account, or the machine's user who ran the command."]
    name: Annotated[str | None, "The name of the key, the account or the command."]
    address: Annotated[str | None, "The address from which it was done."]


class AuditObject(TypedDict):
    """What something was done to."""

    kind: Annotated[str, "Such as `journey`, `segment`, `message`, `apikey`, `customer`; `call` for a refused call."]
    id: str | None
    name: Annotated[str | None, "Its name at that time; null for customers."]


class AuditChange(TypedDict):
    """The value of a field before and after. Secrets are hidden."""

    before: Any
    after: Any


class AuditRecord(TypedDict):
    """Something that was done."""

    entryId: Annotated[ObjectId, "The entry's id. That of an erasure is its receipt's."]
    at: Instant
    action: Annotated[str, "What was done.", known(AuditEntry.Action.values)]
    actor: AuditActor
    object: AuditObject
    changes: Annotated[dict[str, AuditChange], "By field; for an erasure the number of records of each kind."]
    note: Annotated[str | None, "More about it, as text."]
    requestId: Annotated[str | None, "The id of the request."]


class AuditPage(TypedDict):
    """Entries in the order in which they became known."""

    entries: list[AuditRecord]
    after: Annotated[int, "Send it as `after` for what follows, now or later: nothing is added before it."]


def audit_page(entries: Sequence[AuditEntry], *, after: int) -> AuditPage:
    last = entries[-1].position if entries else None
    return AuditPage(entries=[_record(entry) for entry in entries], after=after if last is None else last)


def _record(entry: AuditEntry) -> AuditRecord:
    changes = entry.changes or {}
    return {
        "entryId": entry.id,
        "at": iso_utc(entry.at),
        "action": entry.action,
        "actor": {
            "kind": entry.actor_kind,
            "id": entry.actor_id or None,
            "name": entry.actor_name or None,
            "address": entry.address,
        },
        "object": {
            "kind": entry.object_kind,
            "id": entry.object_id or None,
            "name": entry.object_name or None,
        },
        "changes": {name: AuditChange(before=before, after=after) for name, (before, after) in changes.items()},
        "note": entry.note or None,
        "requestId": entry.request_id or None,
    }
