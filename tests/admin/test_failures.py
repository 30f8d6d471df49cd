"""Failures: what is listed, and what sending again does: for one, for the chosen, for all that match."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import Resending, StepRun, WebhookDelivery
from journeys.tasks import resend
from tests.admin.failures import failed_webhooks
from tests.admin.records import cells, list_of
from tests.admin.staff import member, staff_with
from tests.support.audit import told
from tests.support.plans import note_statistics, rows_gone_through

FAILURES = list_of(WebhookDelivery)
SEND_AGAIN = f"{FAILURES}send-again/"


def listed(client: Client, **query: Any) -> list[int]:
    """The ids of the deliveries that the list shows."""
    return [one.pk for one in client.get(FAILURES, query).context["cl"].result_list]


def waiting() -> set[int]:
    return set(WebhookDelivery.objects.filter(state="waiting", again=True).values_list("pk", flat=True))


def ids(deliveries: list[WebhookDelivery]) -> list[int]:
    return [one.pk for one in deliveries]


def test_it_lists_what_failed_newest_first_with_its_customer_and_the_answer(staff: Client, acme: Workspace) -> None:
    (old,) = failed_webhooks(acme, ago=60)
    (new,) = failed_webhooks(acme, status=404)
    answer = staff.get(FAILURES)
    page = answer.content.decode()
    assert [one.pk for one in answer.context["cl"].result_list] == [new.pk, old.pk]
    assert [cell.split()[0] for cell in cells(page, "answer")] == ["404", "500"]
    for text in ("2 failed", "No such list.", page_url(new.enrollment.customer), page_url(new.enrollment.journey)):
        assert text in page
    assert staff.get(page_url(new))["Location"] == f"{page_url(new.enrollment)}#timeline"


def test_it_is_narrowed_by_host_status_journey_workspace_and_time(
    staff: Client, acme: Workspace, rival: Workspace
) -> None:
    (plain,) = failed_webhooks(acme)
    (silent,) = failed_webhooks(acme, host="sms.example", status=0)
    (old,) = failed_webhooks(acme, status=404, ago=7200)
    (foreign,) = failed_webhooks(rival)
    hour_ago = (timezone.now() - timedelta(hours=1)).isoformat()
    for query, expected in (
        ({}, {plain, silent, old, foreign}),
        ({"host": "sms.example:80"}, {silent}),
        ({"status": "404"}, {old}),
        ({"status": "0"}, {silent}),
        ({"enrollment__journey__id__exact": plain.enrollment.journey_id}, {plain}),
        ({"workspace__id__exact": rival.id}, {foreign}),
        ({"since": hour_ago}, {plain, silent, foreign}),
        ({"before": hour_ago}, {old}),
        ({"since": "nonsense", "status": "x"}, {plain, silent, old, foreign}),
        ({"q": f"msg_{silent.enrollment_id}_0"}, {silent}),
        ({"q": plain.enrollment.customer.external_id}, {plain}),
    ):
        assert set(listed(staff, **query)) == {one.pk for one in expected}, query


def test_what_is_tried_again_is_listed_apart(staff: Client, acme: Workspace) -> None:
    (failed,) = failed_webhooks(acme)
    (trying,) = failed_webhooks(acme)
    WebhookDelivery.objects.filter(pk=trying.pk).update(state="waiting", due_at=timezone.now() + timedelta(hours=1))
    assert listed(staff) == [failed.pk]
    assert listed(staff, what="trying") == [trying.pk]
    assert "Send all" not in staff.get(FAILURES, {"what": "trying"}).content.decode()


def test_one_and_the_chosen_are_sent_again(staff: Client, acme: Workspace) -> None:
    one, two, three = failed_webhooks(acme, number=3)
    asked = staff.post(FAILURES, {"action": "send_chosen_again", "_selected_action": [two.pk, three.pk]})
    assert "Send 2 webhooks again?" in asked.content.decode()
    assert waiting() == set()
    page = staff.post(SEND_AGAIN, {"chosen": [two.pk, three.pk]}, follow=True).content.decode()
    assert "2 webhooks are sent again." in page
    assert waiting() == {two.pk, three.pk}
    staff.post(SEND_AGAIN, {"chosen": [one.pk]})
    assert waiting() == {one.pk, two.pk, three.pk}
    page = staff.post(SEND_AGAIN, {"chosen": [one.pk]}, follow=True).content.decode()
    assert "1 webhook is not: only one that has failed can be sent again" in page
    assert [what for _, _, what in told("webhookdelivery")] == ["Sent again."] * 3


def test_the_audit_names_those_that_were_sent_again_and_no_other_that_was_chosen(
    staff: Client, acme: Workspace
) -> None:
    failed, trying = failed_webhooks(acme, number=2)
    WebhookDelivery.objects.filter(pk=trying.pk).update(state="waiting")
    page = staff.post(SEND_AGAIN, {"chosen": [failed.pk, trying.pk]}, follow=True).content.decode()
    assert "1 webhook is sent again. 1 webhook is not:" in page
    assert told("webhookdelivery") == [("root", str(failed.pk), "Sent again.")]


def test_all_that_match_are_sent_again_once_in_the_background(staff: Client, acme: Workspace, rival: Workspace) -> None:
    chosen = ids(failed_webhooks(acme, number=3)) + ids(failed_webhooks(rival, number=2))
    failed_webhooks(acme, host="sms.example")
    asked = staff.get(SEND_AGAIN, {"host": "mail.example:80"}).content.decode()
    assert "Send 5 webhooks again?" in asked
    page = staff.post(f"{SEND_AGAIN}?host=mail.example:80", follow=True).content.decode()
    assert "5 webhooks are sent again, in the background." in page
    assert "0 of 3 of Acme" in page
    assert waiting() == set()
    later = ids(failed_webhooks(acme, ago=-60))  # fails after it was asked for
    for _ in range(2):
        resend()
    assert waiting() == set(chosen)
    assert not waiting() & set(later)
    told = Resending.objects.order_by("workspace__key").values_list("total", "sent", "looked_at")
    assert sorted(told) == [(2, 2, 2), (3, 3, 3)]
    assert "3 of 3 of Acme" in staff.get(f"{FAILURES}sending-again/").content.decode()


def test_it_goes_on_in_parts_and_skips_what_a_journey_waits_for(
    staff: Client, acme: Workspace, monkeypatch: Any
) -> None:
    monkeypatch.setattr("journeys.engine.webhooks.resending._PART", 2)
    deliveries = failed_webhooks(acme, number=5)
    unread = deliveries[1]
    StepRun.objects.filter(enrollment=unread.enrollment_id).update(state="waiting")
    staff.post(SEND_AGAIN)
    resend()
    assert waiting() == {one.pk for one in deliveries} - {unread.pk}
    asked = Resending.objects.get()
    assert (asked.total, asked.looked_at, asked.sent, asked.ended_at is None) == (5, 5, 4, False)


def test_a_part_costs_as_many_statements_for_many_as_for_few(staff: Client, acme: Workspace) -> None:
    numbers = []
    for number in (1, 60):
        failed_webhooks(acme, number=number)
        staff.post(SEND_AGAIN)
        with CaptureQueriesContext(connection) as queries:
            resend()
        numbers.append(len([one for one in queries if "journeys_" in one["sql"]]))
    assert numbers[0] == numbers[1]


@pytest.mark.slow
def test_the_list_and_its_total_read_no_more_than_they_show(staff: Client, acme: Workspace) -> None:
    failed_webhooks(acme, number=10)
    staff.get(FAILURES)  # the session is written now and then, and by the first request
    with CaptureQueriesContext(connection) as few:
        staff.get(FAILURES)
    failed_webhooks(acme, number=2_000)
    note_statistics("journeys_webhookdelivery", "journeys_webhookattempt", "journeys_steprun")
    with CaptureQueriesContext(connection) as many, rows_gone_through() as rows:
        staff.get(FAILURES)
    assert len([one for one in many if "EXPLAIN" not in one["sql"] and "SAVEPOINT" not in one["sql"]]) == len(few)
    of_list = [number for sql, number in rows.items() if "journeys_webhookattempt" in sql and "COUNT(" not in sql]
    assert max(of_list) < 1_000  # 50 rows, each with its last attempt, looked up


def test_who_may_only_look_sends_nothing_again(onlooker: Client, acme: Workspace) -> None:
    (failed,) = failed_webhooks(acme)
    page = onlooker.get(FAILURES).content.decode()
    assert "No such list." in page
    assert "end again" not in page
    assert onlooker.get(SEND_AGAIN).status_code == 403
    assert onlooker.post(SEND_AGAIN, {"chosen": [failed.pk]}).status_code == 403
    assert onlooker.post(SEND_AGAIN).status_code == 403
    assert (waiting(), Resending.objects.count()) == (set(), 0)


def test_who_may_not_view_customers_or_journeys_sees_none_of_them(acme: Workspace) -> None:
    (failed,) = failed_webhooks(acme)
    page = staff_with("view_webhookdelivery").get(FAILURES).content.decode()
    assert "mail.example" in page
    assert cells(page, "answer") == ["•••"]
    assert "No such list." not in page
    assert str(failed.enrollment.customer) not in page
    assert str(failed.enrollment.journey) not in page


def test_a_member_sees_and_sends_what_is_of_their_workspaces_alone(
    staff: Client, acme: Workspace, rival: Workspace
) -> None:
    (own,), (foreign,) = failed_webhooks(acme), failed_webhooks(rival)
    client = member("support", acme="support")
    assert listed(client) == [own.pk]
    assert "Send 1 webhook again?" in client.get(SEND_AGAIN).content.decode()
    client.post(SEND_AGAIN, {"chosen": [foreign.pk]})
    client.post(f"{SEND_AGAIN}?workspace__id__exact={rival.id}")
    assert Resending.objects.count() == 0
    client.post(SEND_AGAIN)
    resend()
    assert waiting() == {own.pk}
    staff.post(f"{SEND_AGAIN}?workspace__id__exact={rival.id}")
    assert "of Rival" not in client.get(f"{FAILURES}sending-again/").content.decode()


def test_its_address_leads_to_the_timeline_only_who_may_see_that(acme: Workspace, rival: Workspace) -> None:
    (own,) = failed_webhooks(acme)
    address = f"{FAILURES}{own.pk}/change/"
    strangers = [staff_with(), staff_with("view_webhookdelivery"), staff_with("view_enrollment")]
    for client in (*strangers, member("viewer", acme="viewer")):
        answer = client.get(address)
        assert (answer.status_code, own.enrollment_id in answer.content.decode()) == (403, False)
    reader = member("helping", acme="support")
    assert reader.get(address)["Location"].endswith(f"{own.enrollment_id}/change/#timeline")
    assert member("foreign", rival="support").get(address)["Location"] == "/admin/"
