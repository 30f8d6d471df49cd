"""The kinds of definitions that are read, saved, written and deleted one by one (see definitions.py)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, cast

from django.db.models import Model, QuerySet

from customers.audience.membership import SegmentNotFound
from customers.audience.segments import segment_warnings
from customers.models import Segment
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record
from engage.database.object_ids import is_object_id
from engage.database.statement_limit import longer_statements
from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.json.storable import unstorable
from engage.models import AuditEntry, Workspace
from journeys.connections.variables import delete_variable, save_variable
from journeys.design.authoring import SPELLINGS, JourneyChanges, save_journey
from journeys.design.connections import ConnectionChanges, delete_connection, save_connection
from journeys.design.keeping import archive_journey
from journeys.design.warnings import DefinitionWarning, warnings_of
from journeys.entering.trigger import JourneyNotFound
from journeys.models import LARGEST_BATCH, Connection, Journey, JourneyRevision, Subscription, Variable
from journeys.seeding.connections import incomplete, read_connection
from journeys.seeding.journeys import READERS
from journeys.seeding.reading import Described, read_item
from journeys.seeding.segments import SeedSegment, lock_segments, read_segment, seed_segments
from journeys.seeding.subscriptions import read_subscription
from journeys.seeding.written import (
    Item,
    written_connection,
    written_journeys,
    written_segment,
    written_subscription,
    written_variable,
)
from journeys.subscriptions.saving import SubscriptionChanges, delete_subscription, save_subscription


class ConnectionNotFound(Refusal):
    """No such connection in the workspace."""

    status = 404
    error = "Connection not found"

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no connection {key[:100]!r} in this workspace.")


class VariableNotFound(Refusal):
    """No such variable in the workspace."""

    status = 404
    error = "Variable not found"

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no variable {key[:100]!r} in this workspace.")


class SubscriptionNotFound(Refusal):
    """No such subscription in the workspace."""

    status = 404
    error = "Subscription not found"

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no subscription {key[:100]!r} in this workspace.")


class Saving(NamedTuple):
    """What a definition is saved over: `stored` is None where there is nothing yet."""

    workspace: Workspace
    key: str
    stored: Any
    confirmed: bool
    now: datetime


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of definitions. `read` notes mistakes in a reading, `save` raises them.

    `find` selects one by its key, or by its id. `written` is the item as it is stored, with its secrets.
    """

    missing: Callable[[str], Refusal]
    find: Callable[[str, str], QuerySet[Any]]
    read: Callable[[Part, Reading], Any]
    save: Callable[[Saving, Any], Model]
    written: Callable[[Any], Item]
    warnings: Callable[[Any], Sequence[DefinitionWarning]]
    delete: Callable[[Any, str, datetime], object]


def _by(model: type[Model], name: str) -> Callable[[str, str], QuerySet[Any]]:
    def find(workspace_id: str, named: str) -> QuerySet[Any]:
        if unstorable(named):
            return QuerySet(model).none()
        by_id = name == "key" and is_object_id(named)
        return QuerySet(model).filter(workspace=workspace_id, **{"pk" if by_id else name: named})

    return find


# Journeys ------------------------------------------------------------------------------------------------------------

_WITHOUT_STATE = [name for name in READERS if name != "active"]
_AS_WRITTEN = {**READERS, "steps": lambda part: part.value}  # a call has no environment


def _save_journey(saving: Saving, described: Described) -> Journey:
    new = Journey(name=saving.key)
    defaults = {name: getattr(new, name, []) for name in _WITHOUT_STATE}
    changes = {**defaults, **described.changes}
    if saving.stored is not None:
        changes.pop("active", None)
    return save_journey(
        workspace=saving.workspace, key=saving.key, now=saving.now, **cast("JourneyChanges", changes)
    ).journey


def _warnings_of_journey(journey: Journey) -> list[DefinitionWarning]:
    current = JourneyRevision.objects.filter(journey=journey, number=journey.revision).first()
    return warnings_of(journey, **current.written) if current else []


JOURNEYS = Kind(
    missing=JourneyNotFound,
    find=_by(Journey, "key"),
    read=lambda part, read: read_item(part, _AS_WRITTEN, read, spellings=SPELLINGS),
    save=_save_journey,
    written=lambda journey: written_journeys([journey])[0],
    warnings=_warnings_of_journey,
    delete=lambda journey, actor, now: archive_journey(journey, actor=actor, now=now),
)

# Segments ------------------------------------------------------------------------------------------------------------


def _save_segment(saving: Saving, described: SeedSegment) -> Segment:
    changes = {"name": saving.key, "conditions": None, "managed_by": None, **described.changes}
    whole = replace(described, key=saving.key, changes=changes)
    stored = lock_segments(workspace=saving.workspace, segments=[whole])
    seed_segments(workspace=saving.workspace, segments=[whole], stored=stored, customers={}, now=saving.now)
    return Segment.objects.get(workspace=saving.workspace, key=saving.key)


def _delete_segment(segment: Segment, _: str, __: datetime) -> None:
    gone = change(AuditEntry.Action.DELETED, segment, changes=changes_between(facts_of(segment), {}))
    with longer_statements():  # its members go with it
        segment.delete()
    record(gone)


SEGMENTS = Kind(
    missing=lambda _: SegmentNotFound(),
    find=_by(Segment, "key"),
    read=partial(read_segment, without=("members",)),
    save=_save_segment,
    written=written_segment,
    warnings=lambda segment: [
        DefinitionWarning(place=one.place, message=one.remark) for one in segment_warnings(segment)
    ],
    delete=_delete_segment,
)

# Connections ---------------------------------------------------------------------------------------------------------


def _save_connection(saving: Saving, described: Described) -> Connection:
    defaults: dict[str, Any] = {
        "name": saving.key,
        "channel": Connection.Channel.OTHER.value,
        "per_second": None,
        "definition": {},
    }
    changes = cast("ConnectionChanges", {**defaults, **described.changes})
    return save_connection(
        workspace=saving.workspace, key=saving.key, now=saving.now, confirmed=saving.confirmed, **changes
    ).connection


CONNECTIONS = Kind(
    missing=ConnectionNotFound,
    find=_by(Connection, "key"),
    read=read_connection,
    save=_save_connection,
    written=written_connection,
    warnings=lambda connection: [*incomplete(connection, place="")],
    delete=lambda connection, _, __: delete_connection(connection),
)

# Variables -----------------------------------------------------------------------------------------------------------


def _save_variable(saving: Saving, described: Described) -> Variable:
    return save_variable(
        workspace=saving.workspace, name=saving.key, value=described.changes.get("value"), now=saving.now
    )[0]


VARIABLES = Kind(
    missing=VariableNotFound,
    find=_by(Variable, "name"),
    read=lambda part, read: read_item(part, {"value": lambda value: value.value}, read),
    save=_save_variable,
    written=written_variable,
    warnings=lambda _: [],
    delete=lambda variable, _, __: delete_variable(variable),
)

# Subscriptions -------------------------------------------------------------------------------------------------------


def _save_subscription(saving: Saving, described: Described) -> Subscription:
    defaults: dict[str, Any] = {"url": "", "types": None, "journeys": None, "batch": LARGEST_BATCH}
    changes = cast("SubscriptionChanges", {**defaults, **described.changes})
    return save_subscription(workspace=saving.workspace, key=saving.key, now=saving.now, **changes).subscription


SUBSCRIPTIONS = Kind(
    missing=SubscriptionNotFound,
    find=_by(Subscription, "key"),
    read=read_subscription,
    save=_save_subscription,
    written=written_subscription,
    warnings=lambda _: [],
    delete=lambda subscription, _, __: delete_subscription(subscription),
)
