"""The page of an enrollment: its history with the webhooks' attempts."""

import re
from typing import Any

import pytest
from django.db import connection
from django.db.models import prefetch_related_objects
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config import ROOT
from customers.models import Event
from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.enrollment import timeline
from journeys.models import Enrollment, StepRun, WebhookAttempt, WebhookDelivery, WebhookSecret
from tests.admin.enrollment_page import page_of
from tests.admin.records import list_of
from tests.admin.staff import member, staff_with
from tests.journeys.events.reporting import report
from tests.journeys.walking.stories import walked
from tests.journeys.webhooks.standing import send
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import DAY
from tests.support.receiver import Receiver

NOTE = {"id": "note", "type": "update_profile", "attributes": {"plan": "{{ api.payload.plan }}"}}
TELL = {"id": "tell", "type": "track_event", "eventName": "noted"}


def test_every_step_is_shown_with_what_it_came_to(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [NOTE, TELL, DAY])
    page = page_of(staff, enrollment)
    assert "Wrote plan." in page
    assert "Without a value: <code>api.payload.plan</code>" in page
    assert f'<a href="{page_url(Event.objects.get())}"' in page
    for run in StepRun.objects.all():
        assert f">{run.step_id}</strong>" in page
        assert run.type in page
        assert f"{run.began_at:%Y-%m-%d %H:%M:%S} UTC" in page


def test_the_values_of_a_branch_are_for_who_sees_customers(
    staff: Client, server: ServerClient, acme: Workspace
) -> None:
    paid = {"field": "api.payload.plan", "op": "eq", "value": "pro"}
    which = {"id": "which", "type": "branch", "cases": [{"if": paid, "next": None}]}
    enrollment = walked(server, acme, [which], plan="<pro>")
    told = "api.payload.plan is &quot;&lt;pro&gt;&quot;"
    assert told in page_of(staff, enrollment)
    assert told in page_of(staff_with("view_enrollment", "view_customer"), enrollment)
    page = page_of(staff_with("view_enrollment"), enrollment)
    assert "No case holds: the journey ends." in page
    assert told not in page


def test_the_event_that_ended_a_wait_is_shown_with_it(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [{"id": "listen", "type": "wait_for_event", "event": "paid", "timeout": "P2D"}])
    event_id = report(server, enrollment.customer, "paid")
    assert event_id not in page_of(staff, enrollment)
    let_workers_walk()
    assert f'<a href="{page_url(Event.objects.get(id=event_id))}"' in page_of(staff, enrollment)


def test_each_cell_holds_one_element_that_narrow_screens_name(staff: Client, failed: Enrollment) -> None:
    page = page_of(staff, failed)
    for cell, begins in (("What it came to", '<div class="engage-told">'), ("Step", '<div class="engage-step">')):
        found = re.findall(rf'<td [^>]*data-label="{cell}">(.*?)</td>', page, re.DOTALL)
        assert found
        assert all(begins in inside for inside in found)


def test_the_styles_name_the_columns_as_they_are_called(staff: Client, failed: Enrollment) -> None:
    page = page_of(staff, failed)
    styles = (ROOT / "engage/static/engage/admin.css").read_text()
    columns = set(re.findall(r'data-label="([^"]+)"', styles))
    assert columns
    for column in columns:
        assert f'data-label="{column}"' in page


@pytest.mark.slow
def test_it_is_said_where_an_enrollment_stands_and_when_it_goes_on(
    staff: Client, server: ServerClient, acme: Workspace
) -> None:
    waiting = walked(server, acme, [DAY])
    assert f"Waits in day until {waiting.due_at:%Y-%m-%d %H:%M:%S} UTC." in page_of(staff, waiting)
    Enrollment.objects.update(step_began_at=None)
    assert f"Is about to begin day, due at {waiting.due_at:%Y-%m-%d %H:%M:%S} UTC." in page_of(staff, waiting)
    listen = {"id": "listen", "type": "wait_for_event", "event": "paid", "timeout": "P2D"}
    listening = walked(server, acme, [listen])
    due = f"{listening.due_at:%Y-%m-%d %H:%M:%S} UTC"
    assert f"Waits in listen for the event paid, until {due}." in page_of(staff, listening)
    done = walked(server, acme, [NOTE])
    assert f"Completed at {done.ended_at:%Y-%m-%d %H:%M:%S} UTC." in page_of(staff, done)
    gone = walked(server, acme, [{"id": "out", "type": "exit", "reason": "Enough."}])
    assert f"Exited at {gone.ended_at:%Y-%m-%d %H:%M:%S} UTC: Enough." in page_of(staff, gone)


def test_it_is_said_that_going_on_failed_and_why(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [DAY])
    Enrollment.objects.filter(id=enrollment.id).update(attempts=1, error="KeyError: the step is gone.")
    assert "going on failed once, lastly with: KeyError" in page_of(staff, enrollment)
    Enrollment.objects.filter(id=enrollment.id).update(attempts=2)
    assert (
        "going on failed 2 times, lastly with: KeyError: the step is gone. "
        f"It is tried again at {enrollment.due_at:%Y-%m-%d %H:%M:%S} UTC."
    ) in page_of(staff, enrollment)


def test_a_webhook_is_shown_with_its_request_and_its_attempts(staff: Client, failed: Enrollment) -> None:
    delivery, attempt = WebhookDelivery.objects.get(), WebhookAttempt.objects.get()
    page = page_of(staff, failed)
    assert f"POST {delivery.url}" in page
    assert f"webhook-id: {delivery.webhook_id}" in page
    assert "{&quot;a&quot;:1}" in page
    assert delivery.result in page
    assert f"{attempt.at:%Y-%m-%d %H:%M:%S} UTC" in page
    assert f"{attempt.milliseconds:,} ms" in page
    assert "404" in page
    assert "As you wish." in page


def test_a_webhook_that_is_tried_again_says_when(
    staff: Client, server: ServerClient, acme: Workspace, receiver: Receiver
) -> None:
    call = {"id": "call", "type": "webhook", "url": receiver.url("/status/503")}
    enrollment = walked(server, acme, [NOTE, call])
    send()
    due = WebhookDelivery.objects.get().due_at
    page = page_of(staff, enrollment)
    assert f"Sends the webhook of call; attempt 2 is due at {due:%Y-%m-%d %H:%M:%S} UTC." in page
    assert "Send again" not in page
    WebhookDelivery.objects.update(state="delivered")
    assert "Sends the webhook of call.</p>" in page_of(staff, enrollment)


def test_neither_the_secret_nor_the_receivers_credentials_are_shown(staff: Client, failed: Enrollment) -> None:
    (delivery,) = WebhookDelivery.objects.all()
    WebhookDelivery.objects.update(url=f"{delivery.url}?api_key=hush&for=ada")
    page = page_of(staff, failed)
    assert "Authorization: ***" in page
    assert f"POST {delivery.url}?api_key=***&amp;for=ada" in page
    assert "hush" not in page
    assert WebhookSecret.objects.get().secret not in page


def test_what_a_receiver_answers_is_text_and_nothing_else(staff: Client, failed: Enrollment) -> None:
    WebhookAttempt.objects.update(answer="<script>alert(1)</script>", error="<b>")
    page = page_of(staff, failed)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


@pytest.mark.parametrize("others", [[], ["view_webhookdelivery"], ["view_customer"]])
def test_who_may_not_see_webhooks_and_people_sees_the_steps_without_requests_and_answers(
    failed: Enrollment, others: list[str]
) -> None:
    page = page_of(staff_with("view_enrollment", *others), failed)
    assert WebhookDelivery.objects.get().result in page
    assert "POST http" not in page
    assert "As you wish." not in page


def test_who_may_not_see_events_sees_none_of_those_that_were_recorded(server: ServerClient, acme: Workspace) -> None:
    enrollment, event = walked(server, acme, [TELL]), Event.objects.get()
    with CaptureQueriesContext(connection) as queries:
        page = page_of(staff_with("view_enrollment"), enrollment)
    assert event.pk not in page
    assert page_url(event) not in page
    assert not [query for query in queries if 'FROM "customers_event"' in query["sql"]]


def lengthen(enrollment: Enrollment, steps: int) -> None:
    """So many more steps, by turns with an event and with a webhook that was tried twice."""
    own: dict[str, Any] = {"workspace": enrollment.workspace, "enrollment": enrollment}
    now = timezone.now()
    ordinals = range(enrollment.steps_begun, enrollment.steps_begun + steps)
    events = Event.objects.bulk_create(
        Event(workspace=enrollment.workspace, customer=enrollment.customer, name="e", source="api", occurred_at=now)
        for _ in ordinals
    )
    StepRun.objects.bulk_create(
        StepRun(
            **own, ordinal=ordinal, step_id=f"step-{ordinal}", type="webhook", state="done", event=event, began_at=now
        )
        for ordinal, event in zip(ordinals, events, strict=True)
    )
    deliveries = WebhookDelivery.objects.bulk_create(
        WebhookDelivery(**own, ordinal=ordinal, host="h", method="GET", url="http://h/", state="delivered", due_at=now)
        for ordinal in ordinals
        if ordinal % 2 == 0
    )
    WebhookAttempt.objects.bulk_create(
        WebhookAttempt(workspace=enrollment.workspace, delivery=delivery, number=n, at=now, milliseconds=1)
        for delivery in deliveries
        for n in (1, 2)
    )
    Enrollment.objects.filter(id=enrollment.id).update(steps_begun=enrollment.steps_begun + steps)
    enrollment.refresh_from_db()


def test_a_long_history_costs_no_more_queries_than_a_short_one(staff: Client, failed: Enrollment) -> None:
    lengthen(failed, 1)
    page_of(staff, failed)
    counts = []
    for steps in (0, 20):
        lengthen(failed, steps)
        with CaptureQueriesContext(connection) as queries:
            page = page_of(staff, failed)
        counts.append(len(queries))
    assert "step-22" in page
    assert counts[0] == counts[1]


@pytest.mark.slow
def test_the_longest_histories_show_their_latest_steps(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [DAY])
    lengthen(enrollment, 200)
    assert "1 earlier step is not shown." in page_of(staff, enrollment)
    lengthen(enrollment, 2)
    page = page_of(staff, enrollment)
    assert "3 earlier steps are not shown." in page
    assert "step-202<" in page
    assert "step-2<" not in page


def test_an_event_that_is_deleted_while_its_page_is_made_is_shown_by_its_id(
    staff: Client, server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    enrollment = walked(server, acme, [TELL, DAY])
    event = Event.objects.get()

    def delete_first(*args: Any) -> None:
        Event.objects.all().delete()
        prefetch_related_objects(*args)

    monkeypatch.setattr(timeline, "prefetch_related_objects", delete_first)
    page = page_of(staff, enrollment)
    assert f"{event.pk} " in page
    assert page_url(event) not in page


def test_the_reason_of_an_exit_is_for_who_sees_customers(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [DAY])
    staff.post(page_url(enrollment).replace("change/", "end/"), {"reason": "Ada asked to leave."})
    pages = (page_url(enrollment), list_of(Enrollment))
    for role in ("viewer", "support", "author", "admin"):
        client = member(role, acme=role)
        told = ["Ada asked" in client.get(page).content.decode() for page in pages]
        assert told == [role != "viewer"] * 2, role
