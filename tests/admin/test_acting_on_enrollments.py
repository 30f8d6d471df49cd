"""What staff may do on the page of an enrollment: send a webhook again, and end the enrollment."""

import re

import pytest
import redis
from django.conf import settings
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.engine import wakeups
from journeys.enrollment import page as enrollments
from journeys.models import Enrollment, StepRun, WebhookDelivery
from journeys.steps.exit import LONGEST_REASON
from tests.admin.enrollment_page import action, page_of
from tests.admin.staff import staff_with
from tests.journeys.walking.stories import walked
from tests.journeys.webhooks.standing import make_due, send
from tests.support.audit import told
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import DAY
from tests.support.receiver import Receiver


def end(staff: Client, enrollment: Enrollment, reason: str) -> str:
    """The page that answers."""
    return staff.post(action(enrollment, "end"), {"reason": reason}, follow=True).content.decode()


def send_again(staff: Client, delivery: WebhookDelivery) -> str:
    """The page that answers."""
    path = action(delivery.enrollment, "webhooks", delivery.pk, "send-again")
    return staff.post(path, follow=True).content.decode()


def test_a_failed_webhook_is_sent_again_and_the_journey_stays_as_it_is(
    staff: Client,
    failed: Enrollment,
    receiver: Receiver,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    (delivery,) = WebhookDelivery.objects.all()
    WebhookDelivery.objects.update(url=receiver.url("/ok"))
    queue = redis.Redis.from_url(settings.REDIS_URL)
    queue.delete("webhooks")
    with django_capture_on_commit_callbacks(execute=True):
        assert "The webhook is sent again." in send_again(staff, delivery)
    wakeups.wake_now()
    assert queue.llen("webhooks") == 1
    make_due()
    send()
    let_workers_walk()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.again) == ("delivered", 2, True)
    assert len(set(receiver.webhook_ids())) == 1
    before = (failed.state, failed.step_id, failed.due_at, failed.steps_begun)
    failed.refresh_from_db()
    assert (failed.state, failed.step_id, failed.due_at, failed.steps_begun) == before
    assert told() == [("root", failed.id, "The webhook is sent again.")]
    assert "Staff had it sent again." in page_of(staff, failed)


@pytest.mark.django_db(transaction=True)
def test_what_was_sent_again_is_so_also_where_nobody_could_be_woken(
    staff: Client, failed: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise TypeError("a bug")

    monkeypatch.setattr(enrollments, "wake_sender", fail)
    (delivery,) = WebhookDelivery.objects.all()
    assert "The webhook is sent again." in send_again(staff, delivery)
    delivery.refresh_from_db()
    assert (delivery.state, len(told())) == ("waiting", 1)


def test_a_webhook_that_has_not_failed_is_not_sent_again(staff: Client, failed: Enrollment) -> None:
    (delivery,) = WebhookDelivery.objects.all()
    send_again(staff, delivery)
    assert "Only a webhook that has failed can be sent again" in send_again(staff, delivery)
    assert len(told()) == 1


def test_a_webhook_is_sent_again_from_the_page_of_its_own_enrollment_only(
    staff: Client, failed: Enrollment, server: ServerClient, rival: Workspace, acme: Workspace
) -> None:
    other = walked(server, acme, [DAY])
    path = action(other, "webhooks", WebhookDelivery.objects.get().pk, "send-again")
    assert staff.post(path).status_code == 404
    assert WebhookDelivery.objects.get().state == "failed"


def test_an_enrollment_is_ended_with_a_reason(staff: Client, failed: Enrollment) -> None:
    page = end(staff, failed, " Asked to leave. ")
    failed.refresh_from_db()
    assert (failed.state, failed.exit_reason, failed.due_at) == ("exited", "Asked to leave.", None)
    assert StepRun.objects.get(step_id="day").state == "interrupted"
    assert "The enrollment was ended." in page
    assert "End it now" not in page
    assert told() == [("root", failed.id, "The enrollment was ended.")]


def test_an_enrollment_is_not_ended_without_a_reason_or_twice(staff: Client, failed: Enrollment) -> None:
    assert "Say why the enrollment is ended." in end(staff, failed, "  ")
    failed.refresh_from_db()
    assert failed.state == "active"
    end(staff, failed, f"First.{'x' * 500}")
    assert "The enrollment is exited already. First.x" in end(staff, failed, "Second.")
    failed.refresh_from_db()
    assert failed.exit_reason == f"First.{'x' * 494}"
    assert len(told()) == 1


def test_a_reason_that_cannot_be_stored_ends_nothing(staff: Client, failed: Enrollment) -> None:
    answer = staff.post(action(failed, "end"), {"reason": "Because\0."})
    assert answer.status_code == 400
    assert "such as a NUL character." in answer.content.decode()
    failed.refresh_from_db()
    assert (failed.state, failed.exit_reason) == ("active", "")


def test_the_browser_asks_for_the_reason_before_it_asks_to_confirm(staff: Client, failed: Enrollment) -> None:
    (form,) = re.findall(r'<form[^>]*/end/".*?</form>', page_of(staff, failed), re.DOTALL)
    assert re.search(r'<button[^>]* data-confirm="No further step will follow', form)
    assert re.search(rf'<input[^>]* name="reason" required maxlength="{LONGEST_REASON}"', form)
    assert form.count("data-confirm") == 1


def test_an_onlooker_sees_all_and_changes_nothing(onlooker: Client, failed: Enrollment) -> None:
    page = page_of(onlooker, failed)
    assert "As you wish." in page
    assert "Send again" not in page
    assert "End it now" not in page
    delivery = WebhookDelivery.objects.get()
    for path in (action(failed, "end"), action(failed, "webhooks", delivery.pk, "send-again")):
        assert onlooker.post(path, {"reason": "Because."}).status_code == 403
    failed.refresh_from_db()
    assert failed.state == "active"
    assert WebhookDelivery.objects.get().state == "failed"


def test_who_may_do_one_thing_may_not_do_the_other(failed: Enrollment) -> None:
    ending, again = action(failed, "end"), action(failed, "webhooks", WebhookDelivery.objects.get().pk, "send-again")
    sender, ender = staff_with("view_enrollment", "change_webhookdelivery"), staff_with("change_enrollment")
    for client, path, own, other in (
        (sender, ending, "Send again", "End it now"),
        (ender, again, "End it now", "Send again"),
        (staff_with("view_enrollment", "view_webhookdelivery"), ending, "Timeline", "End it now"),
    ):
        page = page_of(client, failed)
        assert own in page
        assert other not in page
        assert client.post(path, {"reason": "Because."}).status_code == 403
    assert staff_with("change_webhookdelivery").post(again).status_code == 403  # sees no enrollment
    failed.refresh_from_db()
    assert failed.state == "active"
    assert WebhookDelivery.objects.get().state == "failed"
    assert ender.post(ending, {"reason": "Because."}).status_code == 302
    assert sender.post(again).status_code == 302
    assert {what for _, _, what in told("enrollment")} == {"The enrollment was ended.", "The webhook is sent again."}


def test_the_answer_leads_to_the_top_of_the_page_where_the_result_stands(staff: Client, failed: Enrollment) -> None:
    again = action(failed, "webhooks", WebhookDelivery.objects.get().pk, "send-again")
    for path, reason in ((action(failed, "end"), "  "), (again, ""), (action(failed, "end"), "Because.")):
        assert staff.post(path, {"reason": reason})["Location"] == page_url(failed)


def test_nobody_acts_by_following_a_link(staff: Client, failed: Enrollment) -> None:
    again = action(failed, "webhooks", WebhookDelivery.objects.get().pk, "send-again")
    for path in (action(failed, "end"), again):
        assert staff.get(path).status_code == 405
        assert Client().post(path, {"reason": "x"})["Location"].startswith("/admin/login/")
    assert staff.post(action(failed, "end").replace(failed.pk, "f" * 24), {"reason": "x"}).status_code == 404
    failed.refresh_from_db()
    assert failed.state == "active"
