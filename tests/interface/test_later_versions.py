"""A later version runs beside this one while it replaces it, and stores what this one does not know."""

import ast
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import IntegrityError, connection, models, transaction
from django.test import Client

from config import ROOT
from engage.audit.recording import Change, record
from engage.models import AuditEntry, Workspace
from journeys.models import Subscription
from tests.interface.tenants import CALLS, body_of, path_of, tenant
from tests.support.clients import ServerClient
from tests.support.one_of_everything import one_of_everything
from tests.support.tables import taken_back

LATER = "later"
OURS = ("bridge", "customers", "engage", "journeys")


def columns_of_choices() -> Iterator[tuple[type[models.Model], models.Field[Any, Any]]]:
    for name in OURS:
        for model in apps.get_app_config(name).get_models():
            for field in model._meta.local_concrete_fields:
                if (field.base_field if isinstance(field, ArrayField) else field).choices:
                    yield model, field


@pytest.mark.slow
def test_no_call_fails_over_a_value_that_a_later_version_has_stored(
    acme: Workspace, server: ServerClient, subtests: pytest.Subtests
) -> None:
    lived, tried = one_of_everything(acme), 0
    subscription = Subscription.objects.get(workspace=acme)
    ids = {**tenant(acme, server).ids(), "customerId": lived.customer_id, "subscriptionId": subscription.id}
    record(Change(action=AuditEntry.Action.CREATED, workspace_id=acme.id, kind="journey", id=lived.journey_id))
    ours = Client(headers=server.headers)  # which holds no answer to the document: a text goes through as it is
    for model, field in columns_of_choices():
        is_list = isinstance(field, ArrayField)
        later = f"array_append({field.column}, '{LATER}')" if is_list else f"'{LATER[: field.max_length]}'"
        for call in CALLS:
            with subtests.test(column=f"{model.__name__}.{field.name}", call=call.operation_id), taken_back():
                try:
                    with transaction.atomic(), connection.cursor() as cursor:
                        cursor.execute("SET LOCAL session_replication_role = replica")  # entries of the audit stay
                        cursor.execute(f'UPDATE {model._meta.db_table} SET "{field.column}" = {later}')
                        cursor.execute("SET LOCAL session_replication_role = origin")
                except IntegrityError:  # the database knows them all
                    break
                answer = ours.generic(call.method, path_of(call, ids), json.dumps(body_of(call)), "application/json")
                assert answer.status_code < 500, answer.content
                tried += 1
    assert tried > 1000


# Where a text is made a member of an enum, or what is sealed is opened; and why that ends nothing but itself.
TOLD_APART = {
    "known_value": "None for what a later version has stored",
    "asked": "the caller's word, or an author's: refused where it is none of them",
    "own": "a text of the statement itself, or of the lines before",
    "message": "an argument of a message, which may be lost: the work is found again by the sweeper",
    "each alone": "row by row: one that cannot be opened waits with its reason (journeys/engine/webhooks/claims.py)",
    "503": "of the call that needs it",
    "as it is": "stays sealed, and the request that needs it waits",
    "told": "it is told, and the next one is looked at",
}
MAKING = {
    "bridge/interactions/actions.py": ["asked"], "bridge/interactions/capture.py": ["asked"],
    "bridge/messages/content.py": ["asked"], "bridge/messages/definition.py": ["asked", "asked"],
    "bridge/messages/rules.py": ["asked"], "customers/api/lists.py": ["known_value"],
    "customers/conditions/fields.py": ["own", "own"], "customers/conditions/tree.py": ["asked"],
    "customers/contact/ledger.py": ["known_value"], "customers/contact/reach.py": ["known_value"],
    "engage/calls/access/audit.py": ["known_value", "known_value"],
    "journeys/delivery/calls.py": ["known_value", "own"],
    "journeys/subscription/calls.py": ["known_value", "known_value"], "journeys/engine/entering/by_event.py": ["own"],
    "journeys/engine/feed/reading.py": ["own"], "journeys/tasks.py": ["message"],
    "customers/contact/saying.py": ["known_value"], "customers/api/bodies.py": ["asked"],
    "customers/api/suppressions.py": ["known_value", "known_value"],
    "customers/contact/suppressed.py": ["known_value"], "journeys/engine/connections/contacts.py": ["known_value"],
    "journeys/engine/webhooks/asking_again.py": ["known_value"],
    "customers/api/consents.py": ["known_value", "known_value", "known_value"],
}  # fmt: skip
OPENING = {
    "bridge/identity/keyring.py": ["503"], "engage/database/encrypted_fields.py": ["each alone"],
    "engage/credentials/encryption.py": ["own"], "engage/models/workspaces.py": ["503"],
    "journeys/management/commands/encrypt.py": ["told"], "journeys/models/credentials.py": ["as it is", "each alone"],
    "journeys/engine/webhooks/by_connection.py": ["as it is"],
    "journeys/engine/webhooks/claims.py": ["each alone", "each alone"],
}  # fmt: skip


def sources() -> Iterator[tuple[str, ast.AST]]:
    for name in (*OURS, "config"):
        for path in sorted((ROOT / name).rglob("*.py")):
            if "migrations" not in path.parts:
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def named(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_each_place_that_reads_what_a_later_version_may_have_stored_is_known() -> None:
    trees = dict(sources())
    enums = {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and {named(base) for base in node.bases} & {"StrEnum", "TextChoices"}
    }
    making, opening = dict[str, int](), dict[str, int]()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            given = [one for one in node.args if not isinstance(one, ast.Constant)]
            if named(node.func) == "known_value" or (named(node.func) in enums and given and not node.keywords):
                making[path] = making.get(path, 0) + 1
            if {named(node.func), *map(named, node.args)} & {"decrypted", "decrypted_json"}:
                opening[path] = opening.get(path, 0) + 1
    assert making == {path: len(why) for path, why in MAKING.items()}
    assert opening == {path: len(why) for path, why in OPENING.items()}
    assert {one for why in (*MAKING.values(), *OPENING.values()) for one in why} <= TOLD_APART.keys()
