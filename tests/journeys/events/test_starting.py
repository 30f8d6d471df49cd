"""A recorded event starts the journeys that are entered by events of its name."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.counts.counting import fold
from journeys.engine.counts.stats import Span, journey_stats
from journeys.models import Enrollment, EnrollmentJob, Trigger
from tests.journeys.events.reporting import BIG, YEAR, event_journey, report, report_many, results
from tests.support.bridge_calls import click
from tests.support.calls import data, job_of, let_workers_decide, let_workers_walk
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, take_milliseconds
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait


def test_an_event_enters_its_customer_by_the_entry_rules(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = event_journey(acme, steps=[YEAR])
    event_id = report(server, ada, total=7)
    assert not Enrollment.objects.exists()
    report(server, ada)
    let_workers_decide()
    assert results() == ["enrolled", "already_enrolled"]
    enrollment = Enrollment.objects.get()
    assert (enrollment.journey, enrollment.customer, enrollment.event_id) == (journey, ada, event_id)
    queued = Trigger.objects.earliest("queued_at")
    assert (queued.event_id, queued.form, queued.payload) == (event_id, "single", {"total": 7})
    job = job_of(server, acme.id, EnrollmentJob.objects.earliest("id").job_id)
    assert (job["triggerId"], job["enrollmentId"]) == (queued.id, enrollment.id)


def test_an_event_starts_every_active_journey_of_its_name(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    started = {event_journey(acme).id, event_journey(acme).id}
    event_journey(acme, active=False)
    event_journey(acme, event_name="Ordered")
    JourneyFactory.create(workspace=acme)
    report(server, ada)
    let_workers_decide()
    assert set(Enrollment.objects.values_list("journey_id", flat=True)) == started
    assert EnrollmentJob.objects.count() == 2


def test_an_event_that_does_not_meet_where_queues_nothing(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, event_where=BIG)
    report(server, ada, total=99)
    report(server, ada, total="100")
    assert not EnrollmentJob.objects.exists()
    report(server, ada, total=100)
    let_workers_decide()
    assert results() == ["enrolled"]


def test_what_an_event_does_not_start_is_counted_with_the_reason(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer, settings: Any
) -> None:
    big, of_servers = event_journey(acme, event_where=BIG), event_journey(acme, event_from_bridge=False)
    closed = event_journey(acme, active=False)
    tracked = {"eventName": "ordered", "eventProperties": {"total": 100}}
    for limit in ("1000/d", "1/d", "1/d"):
        settings.BRIDGE_JOURNEYS_STARTED_LIMIT = limit
        data(click(sdk, userId=None, external_id="ada", actionType="track_event", actionData=tracked), status=200)
    report_many(server, acme, [{"external_id": "ada", "eventName": "ordered"}] * 3)
    for folded in (False, True):
        if folded:
            fold()
        assert journey_stats(big, Span()).events == {"where_not_met": 3, "too_many_starts": 2}
        assert journey_stats(of_servers, Span()).events == {"from_bridge": 3}
        assert journey_stats(closed, Span()).events == {}
    path = f"/api/v1/journeys/{acme.id}/{big.id}/stats"
    assert data(server.get(path), status=200)["events"] == {"where_not_met": 3, "too_many_starts": 2}
    assert data(server.get(f"{path}?to=2026-01-01"), status=200)["events"] == {}


def test_events_that_no_journey_listens_to_cost_no_statement_more(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    event_journey(acme, event_where=BIG)
    event_journey(acme, event_name="left", active=False)
    report(server, ada, "looked")

    def statements(name: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            report(server, ada, name)
        return len(queries)

    # the key, locking the customer, the event, whom it ends or moves, what it starts; the transaction's two ends
    assert [statements(name) for name in ("looked", "left", "ordered")] == [7, 7, 8]


def test_entry_conditions_may_ask_for_the_event(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    conditions = {"all": [BIG, {"field": "event.name", "op": "eq", "value": "ordered"}]}
    event_journey(acme, entry_conditions=conditions)
    report(server, ada, total=99)
    report(server, ada, total=100)
    let_workers_decide()
    assert results() == ["conditions_not_met", "enrolled"]


def test_templates_read_the_event_and_its_properties(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    note = {
        "name": "{{ event.name }}",
        "event": "{{ event.properties.total }}",
        "properties": "{{ api.properties.total }}",
        "payload": "{{ api.payload.total }}",
    }
    event_journey(acme, steps=[{"id": "note", "type": "update_profile", "attributes": note}])
    report(server, ada, total=7)
    let_workers_walk()
    ada.refresh_from_db()
    assert ada.attributes == {"name": "ordered", "event": "7", "properties": "7", "payload": "7"}


def test_events_of_one_call_enter_in_their_order(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, max_entries_per_customer=2)
    report_many(
        server, acme, [{"external_id": "ada", "eventName": "ordered", "eventProperties": {"n": n}} for n in range(3)]
    )
    let_workers_decide()
    assert results() == ["enrolled", "enrolled", "max_entries_reached"]
    assert [one.payload["n"] for one in Trigger.objects.order_by("jobs__queued_ms")] == [0, 1, 2]


def test_a_job_id_that_is_taken_steps_its_millisecond(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme)
    event_journey(acme, event_name="looked")
    report(server, ada)
    first = EnrollmentJob.objects.select_related("trigger").get()
    assert first.queued_ms == first.trigger.queued_at.timestamp() * 1000
    assert timezone.now() - first.trigger.queued_at < timedelta(minutes=1)
    last = take_milliseconds(first)
    report(server, ada, "looked")
    report(server, CustomerFactory.create(workspace=acme))
    of_others = EnrollmentJob.objects.exclude(trigger=first.trigger)
    of_others.update(queued_ms=last + 9)  # another journey's and another customer's: neither is in the way
    event_ids = [report(server, ada), report(server, ada)]
    later = EnrollmentJob.objects.filter(trigger__event_id__in=event_ids).order_by("id")
    assert list(later.values_list("queued_ms", flat=True)) == [last + 1, last + 2]


@pytest.mark.django_db(transaction=True)
def test_a_job_id_taken_meanwhile_steps_its_millisecond(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme)
    report(server, ada)
    with transaction.atomic():
        last = take_milliseconds(EnrollmentJob.objects.get())
        reporting = made_to_wait(lambda: report(server, ada))
    job = EnrollmentJob.objects.get(trigger__event_id=reporting.result(PATIENCE_SECONDS))
    assert job.queued_ms == last + 1
