"""What a table is, said beside its columns: whose rights, what in it is personal, what is kept and for how long.

A model has `table = Table(…)` in its class. Roles, keys, the admin's pages, the audit, pruning, exports, receipts of
erasures and merges are made from that; so a new table is said in one place. What is not said is closed: a model
without it fails Django's checks, gives rights to superusers alone, and is personal in all its columns.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.db.models import CASCADE, Model, Q

from engage.database.tenancy import WorkspaceForeignKey
from engage.scopes import Scope

VIEW, ALL = "view", "view add change delete"
_ROLES = ("viewer", "support", "author", "admin")
_OF_OTHERS = ("django.", "django_otp.")  # apps whose tables have rules of their own


@dataclass(frozen=True, kw_only=True)
class Rights:
    """What members of a workspace may do, by their role; what a viewer may, everybody may.

    `held`: who may change such a record may hold it, and so may support, where the workspace says so.
    """

    viewer: str = ""
    support: str = ""
    author: str = ""
    admin: str = ALL
    held: bool = False

    def of(self, role: str, *, support_may_hold: bool) -> set[str]:
        """The actions of the role; none of a role of a later version."""
        if role not in _ROLES:
            return set()
        actions = {*self.viewer.split(), *getattr(self, role).split()}
        holds = self.held and ("change" in actions or (support_may_hold and role == "support"))
        return actions | {"hold"} if holds else actions


ADMINS = Rights()
STRUCTURE = Rights(viewer=VIEW)
PEOPLE = Rights(support=VIEW, author=VIEW)  # whoever is said to be, said or did something


@dataclass(frozen=True, kw_only=True)
class Keeps:
    """Which rows `prune` deletes page by page, in words and in SQL; `days` is the setting that says how old they are.

    `key` lists the columns of a unique index that begins with an id. `may_go` is the condition on `old`, a row of the
    table; in it, `%(before)s` is the time before which rows are too old.
    """

    what: str
    days: str
    may_go: str
    key: Sequence[str] = ("id",)


@dataclass(frozen=True, kw_only=True)
class KeepsFew:
    """The same for what is found at once: `old` are the rows that go, at a time or, with `days`, of before one."""

    what: str
    old: Callable[[datetime], Q]
    days: str = ""
    order: str = "pk"


@dataclass(frozen=True, kw_only=True)
class Export:
    """How rows are found that are about a person, by what an export calls them (customers/personal.py).

    `of` is what has the column of the person: `kept`, which are the rows, or a table that is `joined` to them; `where`
    stands in its place where neither does. `hidden` are columns that say nothing of the person, `more` adds some in
    SQL, and `tidy` changes a row before it is told. `erased`: they go with the person's row; `moved`: by a merge they
    become the other person's, all of them, and nothing else is to be done.
    """

    called: str
    joined: str = ""
    of: str = "kept"
    where: str = ""
    order: str = "kept.id"
    hidden: tuple[str, ...] = ()
    more: str = ""
    tidy: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    erased: bool = True
    moved: bool = True


@dataclass(frozen=True, kw_only=True)
class Table:
    """`keys` are the actions that a key with a scope does. `personal` are the columns that say something of persons,
    which who may not view these is not shown: None are all. `persons`: a row is one, and is named by its id alone.
    `limits_keys`: a key may be for some of its rows alone.
    `needs` are conditions by which rows of other tables (`old`) are kept for the sake of this one.
    """

    rights: Rights | None = None
    keys: Mapping[Scope, str] = field(default_factory=dict)
    personal: Collection[str] | None = None
    persons: bool = False
    limits_keys: bool = False
    keeps: Keeps | KeepsFew | None = None
    needs: Mapping[type[Model], str] = field(default_factory=dict)
    export: Export | None = None

    def scope_to(self, action: str) -> Scope:
        """The scope of the keys that do this."""
        return next(scope for scope, actions in self.keys.items() if action in actions.split())


def table_of(model: type[Model]) -> Table | None:
    """What the model itself says of its table; None for nothing, and for those of other apps."""
    table = vars(model._meta.concrete_model or model).get("table")
    return table if isinstance(table, Table) else None


def tables() -> Iterator[tuple[type[Model], Table]]:
    """Those that say what they are. A model refers to those before it."""
    for model in _own_models():
        if table := table_of(model):
            yield model, table


def persons() -> type[Model]:
    """The model whose rows are persons."""
    return next(model for model, table in tables() if table.persons)


def right_to(action: str, model: type[Model]) -> str:
    """The permission's name, as accounts have it."""
    return f"{model._meta.app_label}.{action}_{model._meta.model_name}"


def is_personal(model: type[Model], column: str) -> bool:
    """Whether the column says something of persons to those who may view the record."""
    if not _is_own(model):
        return False
    table = table_of(model)
    return table is None or table.personal is None or column in table.personal


def is_unnamed(model: type[Model]) -> bool:
    """Whether what a record is called tells who a person is, which the audit would keep for longer than the record."""
    table = table_of(model)
    return _is_own(model) and (table is None or table.persons)


def check_tables(app_configs: Any = None, **_: Any) -> list[CheckMessage]:
    """For Django's checks: each model says what its table is, and an export has whatever is about a person."""
    found: list[CheckMessage] = []
    of_persons = _of_persons()
    for model in _own_models():
        shown = [model, *(one.related_model for one in model._meta.related_objects)]  # on its pages
        table, columns = table_of(model), {column.name for one in shown for column in one._meta.concrete_fields}
        if table is None:
            says = "It does not say what its table is: whose rights, what is personal, how long it is kept."
            found.append(Error(says, hint="Give it `table = Table(…)`: engage/database/table.py.", obj=model))
        elif unknown := {*(table.personal or ())} - columns:
            found.append(Error(f"What is personal in it is none of its columns: {sorted(unknown)}.", obj=model))
        elif model in of_persons and not table.export:
            found.append(Error("Its rows are about persons, and its table has no `export`.", obj=model))
    return found


def _own_models() -> list[type[Model]]:
    return [model for model in apps.get_models() if _is_own(model) and not model._meta.proxy]


def _is_own(model: type[Model]) -> bool:
    concrete = model._meta.concrete_model or model
    return not apps.get_app_config(concrete._meta.app_label).name.startswith(_OF_OTHERS)


def _of_persons() -> set[type[Model]]:
    """Persons, what refers to one, and what goes with the row of such a one."""
    found = {model for model, table in tables() if table.persons}
    columns = {f"{model._meta.model_name}_id" for model in found}
    for model in _own_models():  # in this order, as tables() has them
        fields = model._meta.concrete_fields
        cascading = {
            one.field
            for one in model._meta.constraints
            if isinstance(one, WorkspaceForeignKey) and one.on_delete == "CASCADE"
        }
        goes_with = [one for one in fields if one.name in cascading or _cascades(one)]
        if columns & {one.attname for one in fields} or any(one.related_model in found for one in goes_with):
            found.add(model)
    return found


def _cascades(column: Any) -> bool:
    return column.is_relation and column.remote_field.on_delete is CASCADE
