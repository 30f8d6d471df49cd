"""A backup is restored, or a standby takes over that lacks the latest: who keeps up misses nothing without a word."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections

from customers.models import Customer
from engage.audit.recording import change, record
from engage.feed import FeedType, tell
from engage.models import AuditEntry, Workspace
from journeys.engine.webhooks.client import Client
from journeys.engine.webhooks.sending import send_due
from journeys.models import Push, Subscription
from journeys.subscription.pushing.outbox import Outbox
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.receiver import Receiver
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.without_pooler]
Restore = Callable[[], None]
BackUp = Callable[[], Restore]


@pytest.fixture
def back_up() -> Iterator[BackUp]:
    """Copies the database, with its sequences, and gives what puts the copy in its place."""
    name = str(connection.settings_dict["NAME"])
    copy = f"{name}_copy"

    def do() -> Restore:
        connections.close_all()
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{name}"')
        return restore

    def restore() -> None:
        connections.close_all()
        connection.settings_dict["NAME"] = copy

    yield do
    connections.close_all()
    connection.settings_dict["NAME"] = name
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{copy}" WITH (FORCE)')


class Reader:
    """Who keeps up by a call."""

    def __init__(self, server: ServerClient, call: str) -> None:
        self.server, self.path = server, f"/api/v1/{call}/{server.key.workspace_id}"
        self.items, self.cursor = {"feed": ("events", "next"), "audit": ("entries", "after")}[call]
        self.after: Any = None

    def asks(self) -> Any:
        return self.server.get(self.path, query_params={} if self.after is None else {"after": self.after})

    def reads(self) -> list[str]:
        page = data(self.asks(), status=200)
        self.after = page[self.cursor]
        return [one.get("result") or one.get("note") for one in page[self.items]]


def happen(workspace: Workspace, *names: str) -> None:
    for name in names:
        tell(FeedType.MESSAGE_REFUSED, workspace_id=workspace.id, result=name)
        record(change(AuditEntry.Action.CHANGED, workspace, note=name))


def send() -> None:
    client = Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS)
    list(send_due(threads=4, client=client, seconds=10, pushes=Outbox()))


@pytest.fixture
def told(acme: Workspace) -> Workspace:
    acme.feed = True
    acme.save()
    return acme


@pytest.mark.parametrize("call", ["feed", pytest.param("audit", marks=pytest.mark.slow)])
def test_a_reader_who_is_ahead_is_told_and_misses_nothing(
    told: Workspace, server: ServerClient, call: str, back_up: BackUp
) -> None:
    ahead, later, behind = (Reader(server, call) for _ in range(3))
    happen(told, "read")
    for reader in (ahead, later, behind):
        reader.reads()
    restore = back_up()
    happen(told, "lost")
    assert ahead.reads() == later.reads() == ["lost"]
    restore()
    answer = ahead.asks()
    assert (answer.status_code, answer.json()["code"]) == (409, "cursor_from_another_history")
    [detail] = answer.json()["details"]
    assert detail["after"] in answer.json()["message"]
    ahead.after = detail["after"]
    assert "read" in ahead.reads()
    if call == "audit":  # which counts seconds
        wait_until(lambda: time.time() - 1577836800 >= later.after + 1, seconds=5, what="the next second")
    happen(told, "a", "b", "c")
    for reader in (ahead, later, behind):
        assert reader.reads() == ["a", "b", "c"]
        assert reader.reads() == []


def test_what_nobody_had_read_before_the_backup_is_told_behind_every_cursor(
    told: Workspace, server: ServerClient, back_up: BackUp
) -> None:
    reader = Reader(server, "feed")
    happen(told, "not read")
    restore = back_up()
    happen(told, "lost")
    reader.reads()
    restore()
    assert reader.reads() == ["not read"]


@pytest.mark.parametrize("call", ["feed", "audit"])
def test_the_clock_that_goes_back_adds_nothing_before_a_cursor(
    told: Workspace, server: ServerClient, call: str
) -> None:
    reader = Reader(server, call)
    happen(told, "a")
    reader.reads()
    table, ahead = {"feed": ("engage_feedbatch", 2 * 10**15), "audit": ("engage_auditentry", 4 * 10**8)}[call]
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(f"UPDATE {table} SET position = position + %s WHERE position IS NOT NULL", [ahead])
        cursor.execute("RESET session_replication_role")
    reader.after = None
    reader.reads()
    happen(told, "b", "c")
    assert reader.reads() == ["b", "c"]
    assert reader.asks().status_code == 200


def test_a_cursor_of_before_and_what_the_version_before_numbers_stay_in_order(
    told: Workspace, server: ServerClient
) -> None:
    """It draws positions from sequences, beside this version."""
    readers = [Reader(server, call) for call in ("feed", "audit")]
    happen(told, "old")
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table, drawn in (("feedbatch", "feed"), ("auditentry", "audit")):
            cursor.execute(f"UPDATE engage_{table} SET position = nextval('engage_{drawn}_position')")
        cursor.execute("RESET session_replication_role")
    for reader in readers:
        assert reader.reads() == ["old"]
    happen(told, "new")
    for reader in readers:
        assert reader.reads() == ["new"]
    happen(told, "a", "b", "c")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO engage_feedbatch (workspace_id, type, size, results, position)"
            " VALUES (%s, 'message.refused', 1, '{last}', nextval('engage_feed_position') + 9)", [told.id]
        )  # fmt: skip
        cursor.execute(
            "WITH fresh AS MATERIALIZED (SELECT id, nextval('engage_feed_position') AS position FROM (SELECT id FROM"
            " engage_feedbatch WHERE position IS NULL ORDER BY serial) AS ordered) UPDATE engage_feedbatch batch"
            " SET position = fresh.position FROM fresh WHERE batch.id = fresh.id"
        )
        cursor.execute(
            "UPDATE engage_auditentry SET position = nextval('engage_audit_position') WHERE position IS NULL"
        )
    happen(told, "d")
    assert sorted(readers[0].reads()) == ["a", "b", "c", "d", "last"]
    assert sorted(readers[1].reads()) == ["a", "b", "c", "d"]


def test_a_restored_database_pushes_and_sends_under_ids_of_its_own(
    told: Workspace, server: ServerClient, ada: Customer, receiver: Receiver, back_up: BackUp
) -> None:
    data(server.post("/api/v1/subscriptions/acme", {"key": "crm", "url": receiver.url()}), status=201)
    restore = back_up()
    happen(told, "lost 1", "lost 2")
    send()
    restore()
    happen(told, "new 1")
    send()
    first, second = receiver.arrived
    assert "new 1" in second.body.decode()
    assert first.webhook_id != second.webhook_id
    tested = [data(server.post("/api/v1/subscriptions/acme/crm/test", None), status=202) for _ in range(2)]
    assert len({one["deliveryId"] for one in tested}) == 2


def test_a_push_that_waits_at_the_upgrade_keeps_its_id(told: Workspace, server: ServerClient) -> None:
    data(server.post("/api/v1/subscriptions/acme", {"key": "crm", "url": "https://crm.example/"}), status=201)
    crm = Subscription.objects.get()
    old = Push.objects.create(workspace_id=told.id, subscription=crm, size=1)
    assert old.webhook_id == f"psh_{crm.id}_{old.id}"


def test_what_is_decided_anew_is_sent_under_the_same_webhook_id(
    acme: Workspace, server: ServerClient, ada: Customer, receiver: Receiver, back_up: BackUp
) -> None:
    steps = [{"id": "tell", "type": "webhook", "url": receiver.url()}]
    data(trigger(server, JourneyFactory.create(workspace=acme, steps=steps), {"external_id": "ada"}))
    restore = back_up()
    for go_back in (restore, lambda: None):
        let_workers_decide()
        let_workers_walk()
        send()
        go_back()
    first, second = receiver.arrived
    assert first.webhook_id == second.webhook_id
