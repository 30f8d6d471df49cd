"""A connection that is mended is mended for what waits and what is sent again: body and `webhook-id` stay."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.webhooks import by_connection
from journeys.engine.webhooks.resending import send_again
from journeys.models import Connection, StepRun, WebhookDelivery, WebhookHost
from journeys.tasks import walk
from journeys.variable.resource import VARIABLES
from tests.journeys.connections.made import BODY, STEP, connect, enter, journey_of
from tests.journeys.webhooks.standing import make_due, send
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.receiver import Receiver

pytestmark = [pytest.mark.django_db, pytest.mark.ada(email="ada@example.com", attributes={"name": "Ada"})]
OTHER = {"body": None, "form": {"To": "{{ inputs.to }}"}}


def elsewhere(receiver: Receiver, path: str = "/ok") -> str:
    """The same receiver, by another host's name."""
    return receiver.url(path).replace(receiver.address, "localhost")


def sent_long_ago() -> None:
    StepRun.objects.update(began_at=timezone.now() - timedelta(hours=1))


def again() -> None:
    """Staff have it sent once more, or its next attempt has come."""
    delivery = WebhookDelivery.objects.get()
    if delivery.state == "failed":
        walk()
        send_again(workspace_id=delivery.workspace_id, delivery_id=delivery.id)
    make_due()
    send()


@pytest.mark.slow
@each(
    "mended, header, value",
    [
        ({"headers": {"X-Token": "new"}}, "x-token", "new"),
        ({"headers": {"X-Token": "{{ inputs.to }} {{ inputs.n }}"}}, "x-token", "ada@example.com 42"),
        ({"headers": {"X-Token": "{{ vars.token }} {{ customer.name }}"}}, "x-token", "first Ada"),
        ({"headers": {}, "auth": {"bearer": "new"}}, "authorization", "Bearer new"),
        ({"headers": {}, "auth": {"basic": {"user": "a", "password": "b"}}}, "authorization", "Basic YTpi"),
        ({"headers": {"X-Token": "new"}, "secretUrl": True}, "x-token", "new"),
        ({"headers": {"X-Token": "new"}, **OTHER}, "content-type", "application/json"),
    ],
)
def test_url_headers_and_credentials_are_the_connections_at_each_attempt_and_the_body_stays(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, mended: Any, header: str, value: str
) -> None:  # fmt: skip
    VARIABLES.save(workspace=acme, key="token", value="first", now=timezone.now())
    for path, there in (("/status/401", receiver.url), ("/status/500", partial(elsewhere, receiver))):
        receiver.arrived.clear()
        WebhookDelivery.objects.all().delete()
        WebhookHost.objects.all().delete()
        connect(acme, receiver.url(path), confirmed=True)
        enter(server, journey_of(acme, STEP, max_entries_per_customer=9), {"n": 42})
        send()
        WebhookHost.objects.update(open_until=timezone.now() + timedelta(hours=1) if there != receiver.url else None)
        connect(acme, there("/ok?mended"), confirmed=True, **mended)
        again()
        first, second = receiver.arrived
        assert (second.webhook_id, second.body) == (first.webhook_id, first.body)
        assert (first.path, second.path, second.headers[header]) == (path, "/ok?mended", value)
        assert second.headers["host"] == there("").removeprefix("http://")
        stored = WebhookDelivery.objects.get()
        assert (stored.state, stored.url) == ("delivered", there("/***" if "secretUrl" in mended else "/ok?mended"))
        walk()


def test_a_variable_that_is_changed_holds_at_the_next_attempt(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    for value, answer in (("first", "/first/500/then/200"), ("second", None)):
        VARIABLES.save(workspace=acme, key="token", value=value, now=timezone.now())
        if answer:
            connect(acme, receiver.url(answer), headers={"X-Token": "{{ vars.token }}"})
            enter(server, journey_of(acme, STEP))
        make_due()
        send()
    assert [one.headers["x-token"] for one in receiver.arrived] == ["first", "second"]


def gone() -> None:
    Connection.objects.all().delete()


def incomplete() -> None:
    one = Connection.objects.get()
    connect(one.workspace, one.definition["url"], headers={"X-Token": None})


def lacking() -> None:
    Customer.objects.update(email=None)
    one = Connection.objects.get()
    connect(one.workspace, one.definition["url"], headers={"X-Token": "new"})


@each("becomes", [gone, incomplete, lacking])
def test_what_cannot_be_filled_in_any_more_is_sent_as_it_was(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, becomes: Callable[[], None]
) -> None:
    receiver.arrived.clear()
    connect(acme, receiver.url("/first/500/then/200"))
    enter(server, journey_of(acme, STEP))
    send()
    becomes()
    again()
    assert [one.headers["x-token"] for one in receiver.arrived] == ["hush", "hush"]
    assert len({one.body for one in receiver.arrived}) == 1


def test_more_than_there_is_time_for_is_sent_all_the_same(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_connection, "_SECONDS", 0.0)
    connect(acme, receiver.url())
    enter(server, journey_of(acme, *({**STEP, "id": f"mail{number}"} for number in range(2)), key="one"))
    for number in range(4):
        enter(server, journey_of(acme, STEP, key=f"j-{number}"))
    connect(acme, receiver.url("/ok?mended"), headers={"X-Token": "new"})
    send()
    assert [one.headers["x-token"] for one in receiver.arrived] == ["new"] * 5
    assert set(WebhookDelivery.objects.values_list("attempts", "state")) == {(1, "delivered")}


def test_it_costs_a_statement_where_something_goes_by_a_connection_and_none_elsewhere(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    connect(acme, receiver.url())
    asked = []
    for steps in ([{"id": "call", "type": "webhook", "url": receiver.url(), "body": {}}], [STEP]):
        enter(server, JourneyFactory.create(workspace=acme, steps=steps))
        sent_long_ago()
        Connection.objects.update(updated_at=timezone.now() - timedelta(days=1))
        with CaptureQueriesContext(database) as queries:
            send()
        asked.append(sum("journeys_connection known" in one["sql"] for one in queries))
        assert not any("SET url" in one["sql"] for one in queries)
    assert (asked[0], asked[1] > 0) == (0, True)


def test_the_page_says_what_became_of_it(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("root"))
    connect(acme, receiver.url("/status/401"), body=BODY)
    enrollment = enter(server, journey_of(acme, STEP))
    send()
    connect(acme, receiver.url("/ok?mended"), headers={"X-Token": "new"})
    again()
    page = staff.get(f"/admin/journeys/enrollment/{enrollment.id}/change/").content.decode()
    assert "/ok?mended" in page
    assert "are those of the connection at the last attempt" in page
