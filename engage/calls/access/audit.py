"""The call that reads the audit of a workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from engage.audit.reading import entries_after
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.calls.queries import LIMIT
from engage.database.known_values import known_value
from engage.database.object_ids import ObjectId
from engage.database.positions import CursorFromAnotherHistory
from engage.errors import InvalidRequest
from engage.http.paging import DEPRECATED, NEXT_CURSOR
from engage.http.query_strings import whole_number
from engage.json.fields import Parsed, Whole
from engage.json.keywords import Keywords
from engage.models import ActorKind, AuditEntry
from engage.scopes import Scope

_BAD_AFTER = InvalidRequest("after must be a whole number, the next of an earlier answer.")
_GREATEST = 10**18 - 1


def _after(text: str) -> int:
    number = whole_number(text, at_most=_GREATEST)
    if number is None:
        raise _BAD_AFTER
    return number


@dataclass(frozen=True, kw_only=True)
class AuditQuery:
    """After which position, and how many at most."""

    after: Annotated[
        int | None,
        "The `next` of an earlier answer; omit it to begin.",
        Parsed(_after),
        Keywords(type="integer", minimum=0),
    ] = None
    limit: Annotated[int, LIMIT, Whole(most=1000)] = 100


@dataclass(frozen=True, kw_only=True)
class AuditActor:
    """Who did something."""

    kind: Annotated[ActorKind, "`stranger` is somebody who is not logged in."]
    id: Annotated[str | None, "The id of the key or of the account, or the machine's user who ran the command."]
    name: Annotated[str | None, "The name of the key, the account or the command."]
    address: Annotated[str | None, "The address from which it was done."]


@dataclass(frozen=True, kw_only=True)
class AuditObject:
    """What something was done to."""

    kind: Annotated[str, "Such as `journey`, `segment`, `message`, `apikey`, `customer`; `call` for a refused call."]
    id: str | None
    name: Annotated[str | None, "Its name at that time; null for customers."]


@dataclass(frozen=True)
class AuditChange:
    """The value of a field before and after. Secrets are hidden."""

    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """Something that was done."""

    entry_id: Annotated[ObjectId, "The entry's id. That of an erasure is its receipt's."]
    at: datetime
    action: Annotated[AuditEntry.Action, "What was done."]
    actor: AuditActor
    object: AuditObject
    changes: Annotated[Mapping[str, AuditChange], "By field; for an erasure the number of records of each kind."]
    note: Annotated[str | None, "More about it, as text."]
    request_id: Annotated[str | None, "The id of the request."]

    @classmethod
    def of(cls, entry: AuditEntry) -> "AuditRecord | None":
        """None if its action or actor is of a kind that a later version has."""
        action, actor = known_value(AuditEntry.Action, entry.action), known_value(ActorKind, entry.actor_kind)
        return (
            None
            if action is None or actor is None
            else cls(
                entry_id=entry.id,
                at=entry.at,
                action=action,
                actor=AuditActor(
                    kind=actor,
                    id=entry.actor_id or None,
                    name=entry.actor_name or None,
                    address=entry.address,
                ),
                object=AuditObject(kind=entry.object_kind, id=entry.object_id or None, name=entry.object_name or None),
                changes={name: AuditChange(*change) for name, change in (entry.changes or {}).items()},
                note=entry.note or None,
                request_id=entry.request_id or None,
            )
        )


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """Entries in the order in which they became known."""

    entries: Sequence[AuditRecord]
    next: Annotated[int, "Send it as `after` for what follows, now or later: nothing is added before it."]
    after: Annotated[int, NEXT_CURSOR, DEPRECATED]


_SWITCHED_ON = AuditRecord(
    entry_id="6b00b1b1aa4223798a14fef0",
    at=datetime(2026, 11, 20, 19, 8, tzinfo=UTC),
    action=AuditEntry.Action.CHANGED,
    actor=AuditActor(kind=ActorKind.STAFF, id="7", name="grace", address="203.0.113.7"),
    object=AuditObject(kind="journey", id="6b00b1b1aa4223798a14fee8", name="Welcome"),
    changes={"active": AuditChange(before=False, after=True)},
    note=None,
    request_id="9f2c4e0d8b7a4c1f8e6d5b3a2c1d0e9f",
)


@get(
    path="audit/{workspaceId}",
    scope=Scope.AUDIT,
    policy="lookup",
    tag="Access",
    says="Who did what, in the order in which it became known.",
    answer="A page of entries, which is empty if there is nothing new.",
    examples={"A journey was switched on": AuditPage(entries=[_SWITCHED_ON], next=217_364_881, after=217_364_881)},
    refuses=[_BAD_AFTER, CursorFromAnotherHistory("217361281")],
)
def list_audit(asked: Asked[None, AuditQuery]) -> AuditPage:
    """Read who changed what

    Lists what was changed in the workspace, by whom and from where: journeys, messages, segments, keys and apps with
    what they were before, erasures and exports of customers, secrets that were looked at, and calls that lacked a
    right. Triggers, events and changes of customers are not in it: they have a history of their own.
    """
    after = asked.query.after or 0
    entries = entries_after(workspace_id=asked.workspace_id, position=after, limit=asked.query.limit)
    last = entries[-1].position if entries else None
    told = [record for entry in entries if (record := AuditRecord.of(entry))]
    following = after if last is None else last
    return AuditPage(entries=told, next=following, after=following)
