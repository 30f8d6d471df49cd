"""GET /api/v1/audit/{workspaceId}: who changed what, in the transaction of the change, and kept by the database."""

import csv
import getpass
import io
import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer
from engage.audit import refusals
from engage.audit.recording import change, record
from engage.models import AuditEntry, IdentityKey, Workspace
from journeys.models import SteeringAct
from tests.support.audit import told, written
from tests.support.calls import customers_path, data
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import ApiKeyFactory, CustomerFactory, JourneyFactory
from tests.support.simultaneous import elsewhere

SEED = {
    "workspace": {"key": "acme"},
    "apps": [
        {"name": "web", "identityKeys": [{"kid": "k", "alg": "HS256", "secret": "hush-that-has-more-than-32-bytes"}]}
    ],
    "apiKeys": [{"name": "shop"}],
    "segments": [{"key": "vip"}],
    "journeys": [
        {
            "key": "welcome",
            "steps": [
                {"id": "w", "type": "webhook", "url": "https://a.example/x?token=hush", "headers": {"X-Plain": "hush"}}
            ],
        }
    ],
    "messages": [{"key": "sale"}],
}


def audit(server: ServerClient, **query: Any) -> Any:
    path = f"/api/v1/audit/{server.key.workspace_id}"
    return data(server.get(path, query_params=query), status=200)


def put_message(server: ServerClient, key: str, **fields: Any) -> None:
    assert server.put(f"/api/v1/messages/{server.key.workspace_id}/{key}", {"status": "active", **fields}).succeeded


# What a change leaves -------------------------------------------------------------------------------------------------


def test_a_change_is_told_with_who_what_before_and_after_and_from_where(server: ServerClient, acme: Workspace) -> None:
    put_message(server, "sale")
    path = f"/api/v1/messages/{acme.id}/sale"
    options: Any = {"headers": {"X-Request-Id": "abc-1"}, "REMOTE_ADDR": "2001:db8:1:2:3::9"}
    assert server.put(path, {"status": "archived"}, **options).succeeded
    assert server.delete(path).succeeded
    made, changed, deleted = audit(server)["entries"]
    assert [one["action"] for one in (made, changed, deleted)] == ["created", "changed", "deleted"]
    assert changed["changes"] == {"status": {"before": "active", "after": "archived"}}
    assert changed["requestId"] == "abc-1"
    assert changed["object"] == {"kind": "message", "id": made["object"]["id"], "name": "sale"}
    key = {"kind": "key", "id": server.key.id, "name": server.key.name}
    assert changed["actor"] == {**key, "address": "2001:db8:1:2:3::9"}
    assert (made["changes"]["status"], deleted["changes"]["status"]) == (
        {"before": None, "after": "active"},
        {"before": "archived", "after": None},
    )


def test_what_changes_nothing_or_is_refused_leaves_nothing(server: ServerClient, acme: Workspace) -> None:
    put_message(server, "sale")
    put_message(server, "sale")
    assert not server.put(f"/api/v1/messages/{acme.id}/sale", {"actions": [{"id": "a", "type": "jump"}]}).succeeded
    assert not server.delete(f"/api/v1/messages/{acme.id}/none").succeeded
    assert not server.delete(customers_path(acme, "0" * 24)).succeeded
    assert [what for _, _, what in told()] == ["Created."]


def test_a_change_costs_one_insert_and_what_is_no_definition_none(server: ServerClient, acme: Workspace) -> None:
    put_message(server, "sale")
    with CaptureQueriesContext(connection) as queries:
        put_message(server, "sale", forms=[])
        put_message(server, "sale", status="archived")
        server.put(customers_path(acme), {"external_id": "ada"})
    assert len([one for one in queries if "engage_auditentry" in one["sql"]]) == 1


def test_a_seed_file_is_told_once_by_its_command_and_without_secrets(
    server: ServerClient, acme: Workspace, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    file = tmp_path / "seed.json"
    for number in range(2):
        with subtests.test(number=number):
            file.write_text(json.dumps(SEED))
            call_command("seed_workspace", str(file), stdout=io.StringIO())
            kinds = list(AuditEntry.objects.values_list("object_kind", flat=True))
            assert sorted(kinds) == ["apikey", "app", "identitykey", "journey", "message", "segment"]
    assert {one["actor"]["name"] for one in audit(server)["entries"]} == {"seed_workspace"}
    assert "hush" not in written()
    other = {**SEED["apps"][0]["identityKeys"][0], "secret": "hush-another-of-more-than-32-bytes"}  # type: ignore[index]
    file.write_text(json.dumps({"workspace": {"key": "acme"}, "apps": [{"name": "web", "identityKeys": [other]}]}))
    call_command("seed_workspace", str(file), stdout=io.StringIO())
    latest = AuditEntry.objects.latest("at")
    assert (latest.object_id, latest.changes) == (IdentityKey.objects.get().id, {"secret": ["***", "***"]})


def test_credentials_in_urls_of_connections_and_subscriptions_are_not_told(
    server: ServerClient, acme: Workspace
) -> None:
    """That they differ is, also where nothing else does."""
    any_version: Any = {"headers": {"If-Match": "*"}}
    for kind in ("connections", "subscriptions"):
        path = f"/api/v1/{kind}/{acme.id}/crm"
        assert server.put(path, {"url": "https://a.example/x?token=hush-1"}).succeeded
        assert server.put(path, {"url": "https://a.example/x?token=hush-2"}, **any_version).succeeded
        assert server.delete(path, **any_version).succeeded
    entries = audit(server)["entries"]
    assert [one["action"] for one in entries] == ["created", "changed", "deleted"] * 2
    assert [one["changes"] for one in entries if one["action"] == "changed"] == [
        {"secrets": {"before": "***", "after": "***"}}
    ] * 2
    assert "https://a.example/x?token=***" in written()
    assert "hush" not in written()


def test_everybody_in_a_file_is_noted(server: ServerClient, acme: Workspace, ada: Customer, tmp_path: Path) -> None:
    call_command("export_customers", str(tmp_path / "all.csv"), "--workspace", acme.key, stdout=io.StringIO())
    (entry,) = audit(server)["entries"]
    assert (entry["action"], entry["actor"]["name"], entry["note"]) == (
        "exported", "export_customers", "1 customer, to a file."
    )  # fmt: skip


def test_commands_that_show_secrets_are_noted(acme: Workspace) -> None:
    for command in ("webhook_secret", "rotate_webhook_secret"):
        call_command(command, acme.key, stdout=io.StringIO())
    assert [(who, what) for who, _, what in told()] == [
        ("webhook_secret", "Looked at."),
        ("rotate_webhook_secret", "Created."),
    ]


@pytest.mark.django_db
def test_commands_that_make_and_change_accounts_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "hush-hush-hush")
    said = {"interactive": False, "username": "root", "email": "root@engage.example"}
    call_command("createsuperuser", stdout=io.StringIO(), **said)
    with pytest.raises(CommandError):
        call_command("createsuperuser", stdout=io.StringIO(), **said)
    monkeypatch.setattr(getpass, "getpass", lambda **_: "hush-another-one")
    call_command("changepassword", "root", stdout=io.StringIO())
    root = User.objects.get()
    assert root.check_password("hush-another-one")
    made, changed = AuditEntry.objects.order_by("at")
    assert [(one.actor_kind, one.actor_name, one.action, one.object_id) for one in (made, changed)] == [
        ("command", "createsuperuser", "created", str(root.pk)),
        ("command", "changepassword", "changed", str(root.pk)),
    ]
    assert made.changes is not None
    assert (made.changes["is_superuser"], changed.changes) == ([None, True], {"password": ["***", "***"]})
    assert "hush" not in written()


@pytest.mark.django_db
def test_a_change_of_ones_own_password_is_told(client: Client) -> None:
    ada = User.objects.create_superuser("ada", password="countess of lovelace")
    client.force_login(ada)
    path, new = "/admin/password_change/", "an enchantress of numbers"
    form = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    assert client.post(path, form).status_code == 200
    assert told() == []
    assert client.post(path, {**form, "old_password": "countess of lovelace"}).status_code == 302
    assert told() == [("ada", str(ada.pk), "Changed Password.")]


def test_an_entry_goes_with_its_transaction(acme: Workspace) -> None:
    with transaction.atomic():
        record(change(AuditEntry.Action.CHANGED, acme))
        transaction.set_rollback(True)
    assert told() == []


# Who reads it ---------------------------------------------------------------------------------------------------------


def test_entries_are_read_page_by_page_and_those_of_others_by_nobody(
    server: ServerClient, rival_server: ServerClient
) -> None:
    for number in range(5):
        put_message(server, f"m{number}")
        put_message(rival_server, f"theirs{number}")
    names, after = [], 0
    while (page := audit(server, after=after, limit=2))["entries"]:
        names += [one["object"]["name"] for one in page["entries"]]
        after = page["next"]
    assert names == [f"m{number}" for number in range(5)]
    assert audit(server, after=after) == {"entries": [], "next": after, "after": after}
    put_message(server, "later")
    assert [one["object"]["name"] for one in audit(server, after=after)["entries"]] == ["later"]


@each("after", ["", "-1", "x", "1" * 19, "²"])
def test_a_position_that_is_none_is_refused(server: ServerClient, acme: Workspace, after: str) -> None:
    answer = server.get(f"/api/v1/audit/{acme.id}", query_params={"after": after})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.django_db(transaction=True)
def test_what_is_committed_late_is_read_late_and_not_missed(server: ServerClient, acme: Workspace) -> None:
    with transaction.atomic():
        record(change(AuditEntry.Action.CHANGED, acme, note="began first"))
        elsewhere(lambda: put_message(server, "sale"))
        seen = elsewhere(lambda: audit(server))
    assert [one["object"]["name"] for one in seen["entries"]] == ["sale"]
    assert [one["note"] for one in audit(server, after=seen["after"])["entries"]] == ["began first"]


# What the database keeps ----------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE engage_auditentry SET note = 'nobody did this'",
        "UPDATE engage_auditentry SET position = NULL",
        "UPDATE engage_auditentry SET position = position + 1",
        "UPDATE engage_auditentry SET position = 7, note = 'nobody did this'",
        "UPDATE engage_auditentry SET kept_until = now()",
        "DELETE FROM engage_auditentry",
        "TRUNCATE engage_auditentry",
    ],
)
def test_nobody_changes_or_deletes_an_entry_before_its_time(
    server: ServerClient, statement: str, settings: Any
) -> None:
    put_message(server, "first")
    assert audit(server)["entries"]
    settings.RETAIN_AUDIT_DAYS = 0
    put_message(server, "kept for ever")
    before = written()
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert written() == before


def test_an_entry_may_be_deleted_once_its_time_is_over(acme: Workspace, settings: Any) -> None:
    settings.RETAIN_AUDIT_DAYS = -1
    record(change(AuditEntry.Action.CHANGED, acme))
    AuditEntry.objects.all().delete()
    assert told() == []


# What was refused -----------------------------------------------------------------------------------------------------


def test_calls_that_lack_a_right_are_noted_and_only_so_many(
    acme: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "OF_ONE", 2)
    narrow = ServerClient(ApiKeyFactory.create(workspace=acme, name="narrow", scopes=["stats"]))
    fenced = ServerClient(ApiKeyFactory.create(workspace=acme, name="fenced", networks=["10.0.0.0/8"]))
    for _ in range(4):
        narrow.get(customers_path(acme))
        fenced.get("/api/v1/me", REMOTE_ADDR="203.0.113.7")
    entries = audit(server)["entries"]
    assert [one["actor"]["name"] for one in entries].count("narrow") == 2
    refused = [(one["actor"]["name"], one["action"], one["object"]["name"], one["note"]) for one in entries]
    assert set(refused) == {
        (
            "narrow",
            "refused",
            "GET api/v1/customers/<str:workspace_id>",
            "This API key lacks the scope customers:read, which this call needs.",
        ),
        ("fenced", "refused", "GET api/v1/me", "This API key may not be used from 203.0.113.7."),
    }
    assert entries[1]["actor"]["address"] == "203.0.113.7"


def test_what_one_key_is_refused_hides_nobody_else_s(
    acme: Workspace, rival: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "OF_ONE", 2)
    monkeypatch.setattr(refusals, "OF_ACTOR", 5)
    monkeypatch.setattr(refusals, "OF_WORKSPACE", 7)
    loud, other, last, theirs = (
        ServerClient(ApiKeyFactory.create(workspace=workspace, name=name, scopes=["stats"]))
        for workspace, name in ((acme, "loud"), (acme, "other"), (acme, "last"), (rival, "theirs"))
    )
    for number in range(30):
        loud.get(customers_path(acme), REMOTE_ADDR=f"203.0.113.{number // 3}")
    for key, of in ((other, acme), (other, acme), (last, acme), (theirs, rival)):
        key.get(customers_path(of))
    noted = Counter(AuditEntry.objects.filter(action="refused").values_list("actor_name", flat=True))
    assert noted == {"loud": 5, "other": 2, "theirs": 1}


@pytest.mark.django_db
def test_so_many_failed_logins_are_noted_and_nothing_typed(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ADMIN_LOGIN_LIMIT = "1000/m"
    monkeypatch.setattr(refusals, "OF_ONE_CAUSE", 3)
    root = User.objects.create_superuser("root", password="right")
    for number, name in enumerate(["root", "my-password", *["x"] * 6]):
        form = {"username": name, "password": "hush"}
        Client().post("/admin/login/", form, REMOTE_ADDR=f"203.0.113.{number}")
    failed = AuditEntry.objects.order_by("at")
    assert [(one.action, one.object_name, one.object_id, one.address) for one in failed[:2]] == [
        ("login_failed", "root", str(root.pk), "203.0.113.0"),
        ("login_failed", "", "", "203.0.113.1"),
    ]
    assert failed.count() == 4  # three of them at no account
    assert "my-password" not in written()
    assert "hush" not in written()
    Client().post("/admin/login/", {"username": "root", "password": "hush"}, REMOTE_ADDR="203.0.113.98")
    assert failed.filter(object_name="root").count() == 2  # strangers' failures hide none of these
    Client().post("/admin/login/", {"username": "root", "password": "right"}, REMOTE_ADDR="203.0.113.99")
    latest = AuditEntry.objects.latest("at")
    assert (latest.action, latest.actor_name, latest.address) == ("logged_in", "root", "203.0.113.99")


@pytest.mark.django_db
def test_who_fails_to_log_in_again_has_not_logged_in(admin_client: Client) -> None:
    answer = admin_client.post("/admin/login/", {"username": "nobody", "password": "wrong"})
    assert [one.action for one in AuditEntry.objects.all()] == ["login_failed"]
    assert "device" not in answer.cookies


@pytest.mark.django_db
def test_staff_who_may_not_are_noted(client: Client) -> None:
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert client.get("/admin/engage/apikey/").status_code == 403
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.action, entry.object_name) == ("bob", "refused", "GET /admin/engage/apikey/")


# The admin's list -----------------------------------------------------------------------------------------------------


def test_the_list_is_filtered_and_taken_along_as_csv(
    admin_client: Client, server: ServerClient, rival_server: ServerClient, acme: Workspace
) -> None:
    put_message(server, "=1+1")
    put_message(rival_server, "theirs")
    path = "/admin/engage/auditentry/"
    shown = {"workspace__id__exact": acme.id, "action__exact": "created"}
    page = admin_client.get(path, shown).content.decode()
    assert "message =1+1" in page
    assert "theirs" not in page
    assert f"csv/?workspace__id__exact={acme.id}" in page
    answer = admin_client.get(f"{path}csv/", shown)
    (row,) = csv.DictReader(io.StringIO(b"".join(answer).decode()))
    assert (row["actor_id"], row["object_name"], row["workspace_id"]) == (server.key.id, "'=1+1", acme.id)
    assert json.loads(row["changes"])["status"] == [None, "active"]
    clerk = Client()
    clerk.force_login(User.objects.create_user("clerk", is_staff=True))
    assert clerk.get(f"{path}csv/").status_code == 403


def test_who_is_logged_in_is_found_again_with_their_deeds(admin_client: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme)
    said = {"name": "Renamed", "trigger_type": "api", "event_from_bridge": "on", "steps": "[]", "exit_on": "[]"}
    assert admin_client.post(f"/admin/journeys/journey/{journey.id}/change/", said).status_code == 302
    assert [(act.kind, act.actor) for act in SteeringAct.objects.all()] == [("close", "staff admin")]
    entry = AuditEntry.objects.exclude(action="steered").get()
    assert (entry.actor_kind, entry.actor_name, entry.address) == ("staff", "admin", "127.0.0.1")
    assert entry.changes == {"name": ["Welcome", "Renamed"], "active": [True, False]}
    page = admin_client.get(f"/admin/engage/auditentry/{entry.id}/change/").content.decode()
    assert "<b>name</b>: <code>&quot;Welcome&quot;</code> → <code>&quot;Renamed&quot;</code>" in page


def test_an_erasure_and_an_export_are_noted_without_the_person(server: ServerClient, acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="lovelace")
    assert server.get(customers_path(acme, ada.id, "export")).succeeded
    receipt = data(server.delete(customers_path(acme, ada.id)), status=200)["receipt"]
    exported, erased = audit(server)["entries"]
    assert [one["action"] for one in (exported, erased)] == ["exported", "erased"]
    assert erased["entryId"] == receipt["receiptId"]
    assert erased["object"] == {"kind": "customer", "id": ada.id, "name": None}
    assert {kind: counted["before"] for kind, counted in erased["changes"].items()} == receipt["rows"]
    assert "lovelace" not in written()
    assert timezone.now() - AuditEntry.objects.latest("at").at < timedelta(minutes=1)
