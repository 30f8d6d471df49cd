"""What a table is stands at its model, and what it does not say is closed."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.apps import apps
from django.db.models import Model

import engage
from config.management.commands.prune import prunable
from customers.models import Event, Segment
from engage.admin.parts.columns import page_url
from engage.admin.rights.key_rights import rights_of
from engage.admin.rights.roles import rights_of_role
from engage.audit.facts import SECRET, changes_between, facts_of
from engage.audit.recording import change
from engage.database.table import Export, Table, check_tables, is_personal, persons, tables
from engage.models import AuditEntry, Workspace
from engage.scopes import Scope
from tests.admin.records import list_of
from tests.admin.staff import staff_with
from tests.support.one_of_everything import populate

_ROLES = ("viewer", "support", "author", "admin")
_ABOVE = ("config", "bridge", "journeys", "customers")


def _all_rights() -> set[str]:
    of_roles = (rights_of_role.__wrapped__(role, support_may_hold=True) for role in _ROLES)
    return {*rights_of(None)}.union(*of_roles)


def test_a_table_that_says_nothing_is_found_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [*tables()]
    for model, _ in everything:
        with monkeypatch.context() as patch:
            patch.delattr(model, "table")
            assert model in [one.obj for one in check_tables()]
            assert not [one for one in _all_rights() if one.endswith(f"_{model._meta.model_name}")]
            assert all(is_personal(model, column.name) for column in model._meta.concrete_fields)
            unnamed = change(AuditEntry.Action.CREATED, model())
            assert unnamed.named == ""
    assert check_tables() == []


def test_what_is_about_a_person_is_exported_and_what_is_personal_is_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    exported = {model: table for model, table in tables() if table.export}
    assert len(exported) == 17
    for model, table in exported.items():
        with monkeypatch.context() as patch:
            patch.setattr(model, "table", replace(table, export=None))
            found = [one.obj for one in check_tables()]
        by_name = model._meta.db_table == "journeys_unknownexternalid"  # it has what they are called, and no id
        assert found == ([] if by_name else [model])
    monkeypatch.setattr(Event, "table", replace(Event.table, personal=["propertys"]))
    assert [one.obj for one in check_tables()] == [Event]


def test_a_forgotten_table_shows_nothing_of_people(acme: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(acme, rows=1)
    event, segment = Event.objects.get(), Segment.objects.get()
    Event.objects.update(name="hush", message_id="hush", properties={"a": "hush"})
    for model in (Event, Segment):
        monkeypatch.delattr(model, "table")
    may = ("view_event", "view_segment")
    looking, trusted = staff_with(*may), staff_with(*may, "view_customer")
    for client, shown in ((looking, False), (trusted, True)):
        assert (">hush<" in client.get(list_of(Event)).content.decode()) == shown
        found = client.get(f"{list_of(Segment)}?q={segment.key}").content.decode()
        assert (page_url(segment) in found) == shown
        assert ("•••" in client.get(page_url(event)).content.decode()) == (not shown)
    event.refresh_from_db()
    assert changes_between({}, facts_of(event))["name"] == (None, SECRET)


def test_rows_are_pruned_before_those_that_they_refer_to() -> None:
    order = [model for of in prunable().values() for model, _ in of]
    for place, model in enumerate(order):
        refers_to = {one.related_model for one in model._meta.concrete_fields if one.is_relation}
        assert not refers_to & {*order[:place]}
    for model, table in tables():
        assert {*table.needs} <= {*order}, f"{model} needs rows that nothing prunes"


def test_persons_are_in_one_table_and_each_scope_and_role_gives_something() -> None:
    assert [model for model, table in tables() if table.persons] == [persons()]
    assert all(rights_of([scope]) for scope in Scope)
    assert Table().rights is None
    assert len({table.export.called for _, table in tables() if isinstance(table.export, Export)}) == 17


def _names_of(model: type[Model]) -> Iterator[str]:
    meta = model._meta
    yield from (meta.db_table, meta.label, meta.label_lower)
    yield from (
        f"{meta.app_label}.{action}_{meta.model_name}" for action in ("view", "add", "change", "delete", "hold")
    )


def _texts(module: Path) -> Iterator[str]:
    """The module's strings, but for what is only read by people."""
    tree = ast.parse(module.read_text())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_engage_names_nothing_of_the_apps_above_it() -> None:
    above = [model for app in _ABOVE for model in apps.get_app_config(app).get_models()]
    names = re.compile(rf"(?<![\w.])({'|'.join(re.escape(name) for model in above for name in _names_of(model))})\b")
    folder = Path(engage.__file__).parent
    modules = [one for one in folder.rglob("*.py") if "migrations" not in one.parts]
    assert [(one.name, text) for one in modules for text in _texts(one) if names.search(text)] == []
    templates = [one for kind in ("*.html", "*.js") for one in folder.rglob(kind)]
    assert [one.name for one in templates if names.search(one.read_text())] == []
