"""A kind of definition, and the one way in which its definitions are saved and deleted, whoever asks for it.

A class says what its table, fields and rules are; its one instance is found in `Resource.all()`, which calls, seed
files, plans, exports and pages are made from.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

from django.db import transaction
from django.db.models import Model, QuerySet

from engage.audit.facts import Facts, changes_between, facts_of
from engage.audit.recording import change, record, saved
from engage.database.object_ids import is_object_id
from engage.database.table import table_of
from engage.database.written_order import InWrittenOrder
from engage.errors import Refusal
from engage.json.compact import same_json
from engage.json.documents import Part, Reading, one_of
from engage.json.storable import unstorable
from engage.models import AuditEntry, Workspace
from engage.resources.columns import column_mistakes
from engage.resources.fields import KEY, Described, Item, defaults_of, fields_of, read_item
from engage.scopes import Scope

Row = TypeVar("Row", bound=Model)
Outcome = Literal["created", "changed", "unchanged"]
# A secret is changed by where it stands, in the step with this id ("": in none).
SecretsChange = Callable[[str], Callable[[tuple[str, ...], Any], Any]]


class InvalidDefinition(Refusal):
    """A definition cannot be as described; the message begins with the place."""

    error = "Invalid definition"


class DefinitionMissing(Refusal):
    """The workspace has no such definition."""

    status = 404

    def __init__(self, key: str) -> None:
        kind = self.error.removesuffix(" not found").lower()
        super().__init__(f"There is no {kind} {key[:100]!r} in this workspace.")


class BreaksOthers(Refusal):
    """What is to be saved would break what names it: it is done only if that is confirmed."""

    status = 409


@dataclass(frozen=True, kw_only=True)
class DefinitionWarning:
    """What may not be meant in a definition, though it may be saved."""

    schema_name: ClassVar = "Warning"

    place: Annotated[str, "The place in the definition that it is about, such as `steps[2]`."]
    message: Annotated[str, "What is the matter, in a sentence."]
    step_id: str | None = field(default=None, metadata={"hidden": True})  # from the API


class Saved(NamedTuple, Generic[Row]):
    """The row as it is now, and what that was."""

    row: Row
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class CallTexts:
    """What the calls about a kind say of themselves: a summary, an empty line, and a description each, but
    where they are written apart.

    `example` is an item, with the id that it has; `changed` are what a PUT such as `requests` changes, and
    `inside` and `moving` what that tells of a journey.
    """

    put: str = ""
    get: str = ""
    delete: str = ""
    example: Item
    example_id: str
    requests: Mapping[str, Item]
    changed: Sequence[str]
    refuses: Sequence[Refusal]
    refuses_to_delete: Sequence[Refusal] = ()
    inside: int | None = None
    moving: Any = None


class Saving(NamedTuple):
    """What a definition is saved over: `stored` is None where there is nothing yet."""

    workspace: Workspace
    key: str
    stored: Any
    confirmed: bool
    now: datetime


class Resource(Generic[Row]):
    """See above. `section` is its name in seed files and addresses, `named_by` the column that holds its key, `at_most`
    how many a workspace has (None: any number). `checked_apart` are columns that `mistakes` looks at, in place of the
    model's own rules. `state` are fields that say how a new one begins, and are no part of it afterwards.
    """

    model: type[Row]
    fields: type
    section: str
    missing: Callable[[str], Refusal]
    named_by: str = KEY
    at_most: int | None = None
    checked_apart: Collection[str] = ()
    state: Collection[str] = ()
    calls: CallTexts | None = None
    of_all_journeys: bool = False  # its calls need a key that is for all journeys
    confirmable: str = ""  # what `confirm=true` is for, where something may break
    secrets_may_lack: bool = False  # one that the environment does not have is left to be given later
    named_by_journeys: bool = False  # so they are seeded before journeys
    address: str = ""  # of its calls, where that is not the section's name
    only: str = (
        ""  # the key of the one that a workspace has at most: its calls need none, and a file has the item itself
    )
    as_in_1_0: bool = False  # what a PUT leaves out stays; If-Match is heeded where it is sent, and never demanded
    _all: ClassVar[list["Resource[Any]"]] = []

    @classmethod
    def all(cls) -> Sequence["Resource[Any]"]:
        """Every kind, in the order in which they are written out; so they are seeded, but for `named_by_journeys`."""
        return tuple(cls._all)

    @classmethod
    def register(cls, *kinds: "Resource[Any]") -> None:
        cls._all.extend(kinds)

    # What a kind says of itself ---------------------------------------------------------------------------------------

    def items(self, section: Part) -> list[Part]:
        """The items of a file's section."""
        return section.items()

    def packed(self, items: Sequence[Item]) -> Any:
        """The file's section with these items."""
        return items

    def takes_away(self, described: Described) -> bool:
        """Whether a file's item says that there is to be none."""
        return False

    def with_stored_secrets(self, changes: Mapping[str, Any], stored: Row) -> Mapping[str, Any]:
        """The changes, in which a secret that lacks is the one that is stored."""
        return changes

    def read(self, item: Part, reading: Reading) -> Described:
        """An item, as it is sent or stands in a file."""
        return read_item(item, self.fields, reading)

    def defaults(self, key: str) -> dict[str, Any]:
        """The fields of one of which nothing else is said."""
        return defaults_of(self.fields)

    def written(self, row: Row) -> Item:
        """The row as an item, with its secrets."""
        return {KEY: self.key_of(row)} | {one.spelling: getattr(row, one.name) for one in fields_of(self.fields)}

    def all_written(self, workspace_id: str) -> list[Item]:
        """All of a workspace as items, in the order of their keys."""
        rows = self.own(workspace_id).order_by(self.named_by)
        return [self.written(row) for row in rows if not self.gone(row)]

    def with_secrets(self, item: Item, change: SecretsChange) -> Item:
        """The item with each of its secrets changed."""
        return item

    def mistakes(self, row: Row) -> Iterator[Refusal]:
        """What is wrong with the row beside its columns, all of it. It may note what follows from them in the row."""
        yield from ()

    def facts(self, row: Row) -> Facts:
        """What the audit tells of it, and what it is compared by."""
        return facts_of(row)

    def warnings(self, row: Row) -> Sequence[DefinitionWarning]:
        """What may not be meant in it."""
        return []

    def masked(self, item: Item) -> Item:
        """The item as it is shown."""
        return item

    def gone(self, row: Row) -> str:
        """Why one that is stored counts as missing, as a predicate of its key; "" if it does not."""
        return ""

    def kept(self, written: Mapping[str, Any], stored: Row) -> Sequence[DefinitionWarning]:
        """What is written of its state, which stays as it is."""
        return []

    def inside(self, stored: Row) -> int | None:
        """How many go on with what is stored now; None if that cannot be."""
        return None

    def move(self, row: Row, *, actor: str, dry_run: bool) -> Any:
        """Has those inside go on with the row; who does, or would."""
        return None

    def require_unbroken(self, row: Row) -> None:
        """Raises BreaksOthers if what names it could not go on with it."""

    def require_unused(self, row: Row) -> None:
        """Raises a refusal if it cannot be deleted, because something names it."""

    def before_saving(self, row: Row, stored: Row | None) -> None:
        """What else is written with it, or in it, in the same transaction."""

    def after_saving(self, row: Row, stored: Row | None) -> None:
        """The same, once it is there."""

    def after_all(self, workspace_id: str) -> None:
        """What follows from which there are, once one is saved or gone."""

    # What is the same for all -----------------------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """Of the keys that may write them, as the table says."""
        table = table_of(self.model)
        assert table
        return table.scope_to("add")

    @property
    def noun(self) -> str:
        """One of them."""
        return self.section.removesuffix("s")

    def key_of(self, row: Row) -> str:
        return str(getattr(row, self.named_by))

    def own(self, workspace_id: str) -> QuerySet[Row]:
        return QuerySet(self.model).filter(workspace=workspace_id)

    def find(self, workspace_id: str, named: str) -> QuerySet[Row]:
        """The one with this key, or id."""
        if unstorable(named):
            return QuerySet(self.model).none()
        return self.own(workspace_id).filter(**{"pk" if self.is_id(named) else self.named_by: named})

    def is_id(self, named: str) -> bool:
        """Whether this can be no key, but an id."""
        return self.named_by == KEY and is_object_id(named)

    @transaction.atomic
    def save(
        self, *, workspace: Workspace, key: str, now: datetime, confirmed: bool = False, **changes: Any
    ) -> Saved[Row]:
        """Makes the definition with this key, or changes the fields that are given.

        Raises InvalidDefinition or what the kind has for it, with all mistakes, and BreaksOthers unless that is
        confirmed; then nothing is written.
        """
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)  # one at a time, so that they are counted
        own = self.own(workspace.pk)
        named = own if self.only else own.filter(**{self.named_by: key})
        stored = named.select_for_update(no_key=True).first()
        if stored is None and self.at_most is not None and own.count() >= self.at_most:
            raise InvalidDefinition(f"key: a workspace has at most {self.at_most} {self.section}.").at(KEY)
        row = self.checked(stored or self.new(workspace, key), changes)
        before = None if stored is None else self.facts(stored)
        if stored is not None and before is not None and same_json(_compared(before), _compared(self.facts(row))):
            if isinstance(stored, InWrittenOrder):
                stored.keep_order_of(cast("InWrittenOrder", row))
            return Saved(stored, "unchanged")
        if stored is not None and not confirmed:
            self.require_unbroken(row)
        vars(row)["updated_at"] = now
        self.before_saving(row, stored)
        row.save()
        self.after_saving(row, stored)
        self.after_all(workspace.pk)
        record(*saved(row, before=before, after=self.facts(row)))
        return Saved(row, "created" if before is None else "changed")

    def replace(self, saving: "Saving", described: Described) -> Row:
        """Saves what is described in place of all that was stored, but for its state."""
        changes = {**self.defaults(saving.key), **described.changes}
        if saving.stored is not None:
            changes = {name: value for name, value in changes.items() if name not in self.state}
        return self.save(
            workspace=saving.workspace, key=saving.key, now=saving.now, confirmed=saving.confirmed, **changes
        ).row

    def take_away(self, row: Row, *, actor: str, now: datetime) -> None:
        """What a call that deletes it does."""
        self.delete(row)

    def new(self, workspace: Workspace | None, key: str) -> Row:
        """One that is not saved."""
        return self.model(workspace=workspace, **{self.named_by: key}, **self.defaults(key))

    def checked(self, row: Row, changes: Mapping[str, Any]) -> Row:
        """The row with these changes, unsaved. Raises all mistakes."""
        changed = copy(row)
        for name, value in changes.items():
            setattr(changed, name, value)
        refused = [*self.column_mistakes(changed), *self.mistakes(changed)]
        if refused:
            raise one_of(refused)
        return changed

    def column_mistakes(self, row: Row) -> Iterator[Refusal]:
        """What is wrong with its columns, by the rules of its model."""
        spellings = {one.name: one.spelling for one in fields_of(self.fields)}
        for column, message in column_mistakes(row, except_for={"workspace", *self.checked_apart}, spellings=spellings):
            yield InvalidDefinition(message).at(spellings.get(column, column))

    @transaction.atomic
    def delete(self, row: Row) -> None:
        """Deletes it. Raises what the kind does if something names it."""
        workspace_id = str(vars(row)["workspace_id"])
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
        list(QuerySet(self.model).select_for_update().filter(pk=row.pk))  # who saves what names it waits, or is seen
        self.require_unused(row)
        gone = change(AuditEntry.Action.DELETED, row, changes=changes_between(self.facts(row), {}))
        row.delete()
        self.after_all(workspace_id)
        record(gone)


def _compared(facts: Facts) -> dict[str, Any]:
    """Facts as JSON: what is secret is a pair."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()}
