"""GET /api/v1/customers/{workspaceId}/{customerId}/export: everything that is stored of a person."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from customers.models import Customer, Event
from customers.personal import counts_of, exported
from engage.http import long_answers
from engage.models import Workspace
from journeys.models import Enrollment, WebhookDelivery
from tests.support.calls import customers_path, data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory
from tests.support.one_of_everything import populate
from tests.support.simultaneous import elsewhere


def export(server: ServerClient, customer: Customer) -> Any:
    answer = server.get(customers_path(customer.workspace, customer.id, "export"))
    return data(answer, status=200)


def test_all_that_is_stored_is_told_and_nothing_of_others(
    server: ServerClient, acme: Workspace, rival: Workspace
) -> None:
    ada, bob = populate(acme, rows=2)
    (theirs,) = populate(rival, rows=1)
    told = export(server, ada)
    assert told["customerId"] == ada.id
    records = told["records"]
    assert {kind: len(rows) for kind, rows in records.items()} == {
        **counts_of(workspace_id=acme.id, customer_id=ada.id),
        "jobs": 1,
    }
    assert {kind for kind, rows in records.items() if not rows} <= {
        "steps",
        "webhooks",
        "webhookAttempts",
        "unmatchedCalls",
    }
    assert records["customer"][0]["externalId"] == ada.external_id
    assert records["segments"][0]["segmentName"] == "VIP"
    assert [event["name"] for event in records["events"]] == ["paid"]
    for other in (bob, theirs):
        assert other.id not in str(told)


def test_what_was_sent_to_others_and_credentials_are_not_in_it(server: ServerClient, acme: Workspace) -> None:
    ada, bob = CustomerFactory.create_batch(2, workspace=acme)
    (journey,) = {enrolled.journey for enrolled in _enrolled(acme)}
    trigger(server, journey, {"external_id": ada.external_id, "payload": {"for": "ada alone"}})
    trigger(server, journey, {"external_ids": [ada.external_id, bob.external_id], "payload": {"for": "both"}})
    assert [job["payload"] for job in export(server, ada)["records"]["jobs"]] == [{"for": "ada alone"}, None]
    enrollment = Enrollment.objects.get()
    WebhookDelivery.objects.create(
        workspace=acme, enrollment=enrollment, ordinal=1, host="a.example", method="POST", body='{"to": "ada"}',
        url="https://a.example/x?token=hush&for=ada", headers={"Authorization": "hush"}, due_at=enrollment.entered_at,
    )  # fmt: skip
    (webhook,) = export(server, enrollment.customer)["records"]["webhooks"]
    assert (webhook["url"], webhook["body"]) == ("https://a.example/x?token=***&for=ada", '{"to": "ada"}')
    assert "headers" not in webhook


def _enrolled(workspace: Workspace) -> list[Enrollment]:
    populate(workspace, rows=1)
    return list(Enrollment.objects.filter(workspace=workspace))


def test_a_long_export_is_sent_in_parts(server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_answers, "_LONGEST_WHOLE", 10_000)
    ada = CustomerFactory.create(workspace=acme)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO customers_event (id, workspace_id, customer_id, name, properties, source, occurred_at, "
            "created_at) SELECT left(md5(n::text), 24), %s, %s, 'e' || n, '{\"é\": 1e20}', 'api', "
            "now() + n * interval '1 second', now() FROM generate_series(1, 1000) n",
            [acme.id, ada.id],
        )
    events = export(server, ada)["records"]["events"]
    assert [event["name"] for event in events] == [f"e{number}" for number in range(1, 1001)]
    assert events[0]["properties"] == {"é": 1e20}


@pytest.mark.django_db(transaction=True)
def test_an_export_is_of_one_moment(
    server: ServerClient, acme: Workspace, ada: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded while it is read is not in it: not even in the part that is read last."""
    told = [name for name in exported() if name != "events"]

    def add_events(row: dict[str, Any]) -> dict[str, Any]:
        moment = ada.created_at
        event = {"workspace": acme, "customer": ada, "name": "late", "source": "api", "occurred_at": moment}
        elsewhere(lambda: Event.objects.create(**event))
        return row

    _, of_customers = exported()["customer"]
    slow = replace(Customer.table, export=replace(of_customers, tidy=add_events))
    monkeypatch.setattr(Customer, "table", slow)
    records = export(server, ada)["records"]
    assert (records["events"], Event.objects.count()) == ([], 1)
    assert set(records) == {*told, "events"}
