"""People are told of what is wrong: once per cause, when it has lasted, and once when it is over."""

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage, get_connection
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django import DjangoAssertNumQueries
from structlog.testing import capture_logs

from config import tasks
from config.monitoring import presence, telling
from engage import alerts
from engage.models import Alert, Workspace
from journeys.definitions.reading import InvalidSeed
from journeys.models import Chunk, Connection, Enrollment, Journey, Subscription, WebhookAttempt, WebhookHost
from journeys.seeding.export import exported
from journeys.seeding.seed import read_seed, seed_workspace
from tests.journeys.connections.made import connect
from tests.journeys.webhooks.standing import standing
from tests.support.calls import data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.receiver import Receiver
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.django_db
Mails = list[EmailMessage]
LONG_AGO = timedelta(minutes=11)


@pytest.fixture
def told(acme: Workspace) -> Workspace:
    Workspace.objects.filter(id=acme.id).update(alert_emails="ada@acme.example, ops@acme.example")
    return acme


def look_and_tell() -> None:
    """As the task does, once the times have passed for which causes have to hold, or to be gone."""
    Alert.objects.update(seen_at=timezone.now() - LONG_AGO)
    telling.look()
    Alert.objects.exclude(due_at=None).update(due_at=timezone.now() - LONG_AGO)
    telling.tell()


def held(workspace: Workspace) -> Journey:
    return JourneyFactory.create(workspace=workspace, held_at=timezone.now(), held_by="guard", held_because="Too many.")


def test_a_cause_is_told_once_and_once_that_it_is_over(told: Workspace, rival: Workspace, mailoutbox: Mails) -> None:
    journey = held(told)
    held(rival)  # which names nobody
    for _ in range(2):
        look_and_tell()
    [mail] = mailoutbox
    assert mail.to == ["ada@acme.example", "ops@acme.example"]
    assert mail.subject == "Engage, Acme: The guard of the journey 'Welcome' holds it. Too many."
    assert "EngageJourneyHeldByGuard, since" in mail.body
    Journey.objects.filter(id=journey.id).update(held_at=None, held_by="")
    Alert.objects.update(seen_at=timezone.now())
    telling.look()  # it is gone, but not for a minute
    telling.tell()
    assert len(mailoutbox) == 1
    for _ in range(2):
        look_and_tell()
    [_, over] = mailoutbox
    assert over.subject.startswith("Engage, Acme: This is over: The guard of")
    assert Alert.objects.get().over_told_at is not None
    held(told)
    look_and_tell()
    assert len(mailoutbox) == 3  # another cause


def a_host_fails(workspace: Workspace, _: ServerClient) -> None:
    WebhookHost.objects.create(
        workspace=workspace, host="shop.example:443", open_until=timezone.now() + LONG_AGO,
        failing_since=timezone.now() - LONG_AGO,
    )  # fmt: skip


def attempts_fail(workspace: Workspace, _: ServerClient) -> None:
    [delivery] = standing(workspace, "https://shop.example")
    WebhookAttempt.objects.bulk_create(
        WebhookAttempt(
            workspace=workspace, delivery=delivery, number=number, at=timezone.now(), milliseconds=1,
            status=500 if number % 4 == 0 else 200, answer="", error="",
        )
        for number in range(1, 25)
    )  # fmt: skip


def a_job_waits(workspace: Workspace, server: ServerClient) -> None:
    CustomerFactory.create(workspace=workspace, external_id="ada")
    data(trigger(server, JourneyFactory.create(workspace=workspace), {"external_id": "ada"}))
    Chunk.objects.update(turn_at=timezone.now() - LONG_AGO)


def a_step_waits(workspace: Workspace, _: ServerClient) -> None:
    standing(workspace, "https://shop.example")
    Enrollment.objects.update(due_at=timezone.now() - LONG_AGO)


def a_webhook_waits(workspace: Workspace, _: ServerClient) -> None:
    [delivery] = standing(workspace, "https://shop.example")
    type(delivery).objects.update(due_at=timezone.now() - LONG_AGO)


def a_subscription_is_paused(workspace: Workspace, _: ServerClient) -> None:
    Subscription.objects.create(
        workspace=workspace, key="crm", url="https://crm.example", paused_at=timezone.now(), last_failure="It said 500."
    )


@pytest.mark.parametrize(
    ("rule", "set_up", "says"),
    [
        (
            "EngageSubscriptionPaused",
            a_subscription_is_paused,
            "to the subscription crm until it is resumed. It said 500.",
        ),
        ("EngageHostLeftAlone", a_host_fails, "Webhooks to shop.example:443 have failed since"),
        ("EngageWebhooksFail", attempts_fail, "6 of 24 attempts at webhooks failed within 15 minutes."),
        ("EngageDecisionsLate", a_job_waits, "Single triggers are decided late."),
        ("EngageEnrollmentsLate", a_step_waits, "The steps of journeys are late."),
        ("EngageWebhooksLate", a_webhook_waits, "Webhooks are late."),
    ],
)
def test_each_rule_is_told_to_its_workspace_and_to_the_service(
    told: Workspace, rival: Workspace, server: ServerClient, mailoutbox: Mails, settings: Any,
    rule: str, set_up: Callable[[Workspace, ServerClient], None], says: str,
) -> None:  # fmt: skip
    settings.ALERT_EMAILS = ["root@engage.example"]
    Workspace.objects.filter(id=rival.id).update(alert_emails="rival@example.com")
    presence.say(presence.PROCESSES)
    set_up(told, server)
    telling.look()
    found: set[tuple[str | None, str]] = {(one.workspace_id, one.rule) for one in Alert.objects.all()}
    assert (told.id, rule) in found
    assert (None, rule) in found
    assert rival.id not in {workspace_id for workspace_id, _ in found}
    telling.tell()
    assert mailoutbox == []  # it has not held for long enough
    look_and_tell()
    assert says in next(mail.body for mail in mailoutbox if mail.to[0] == "ada@acme.example")
    assert rule in next(mail.body for mail in mailoutbox if mail.to == ["root@engage.example"])


def test_what_is_over_before_anybody_was_told_is_forgotten(told: Workspace, mailoutbox: Mails) -> None:
    a_host_fails(told, None)  # type: ignore[arg-type]
    telling.look()
    WebhookHost.objects.all().delete()
    look_and_tell()
    assert (mailoutbox, Alert.objects.count()) == ([], 0)


@pytest.mark.usefixtures("queue")  # an empty Redis
def test_what_cannot_be_looked_at_does_not_count_as_over(settings: Any, mailoutbox: Mails) -> None:
    settings.ALERT_EMAILS = ["root@engage.example"]
    presence.say(one for one in presence.PROCESSES if one != "scheduler")
    look_and_tell()
    assert "No process scheduler was seen" in mailoutbox[0].body
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    look_and_tell()
    assert "Redis is away" in mailoutbox[1].body
    assert not any("This is over" in mail.body for mail in mailoutbox)


def test_a_message_that_cannot_be_sent_is_tried_again_until_it_is_given_up(
    told: Workspace, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(told)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    with capture_logs() as lines:
        look_and_tell()
        telling.tell()
    assert [line["event"] for line in lines] == ["alert_not_sent"]  # and after a minute again
    [alert] = Alert.objects.all()
    assert alert.due_at is not None
    assert abs(alert.due_at - alert.began_at - timedelta(minutes=1)) < timedelta(seconds=30)
    monkeypatch.setattr(alerts, "MOST_ATTEMPTS", 2)
    look_and_tell()
    look_and_tell()
    [given_up] = Alert.objects.all()
    assert (given_up.due_at, given_up.told_at, given_up.attempts) == (None, None, 2)


def test_a_connection_that_a_later_version_has_written_keeps_no_others_from_being_told(
    told: Workspace, rival: Workspace, mailoutbox: Mails
) -> None:
    connect(rival, "https://a.example/", key="ops")
    Connection.objects.filter(workspace=rival).update(definition={"later": 1})
    Workspace.objects.filter(id=rival.id).update(alert_connection="ops")
    for workspace in (rival, told):
        held(workspace)
    look_and_tell()
    assert [mail.to for mail in mailoutbox] == [["ada@acme.example", "ops@acme.example"]]
    assert Alert.objects.get(workspace=rival).attempts == 1


@pytest.mark.django_db(transaction=True)
def test_a_connection_tells_as_well_and_many_tell_once(acme: Workspace, receiver: Receiver, mailoutbox: Mails) -> None:
    inputs = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
    connect(acme, receiver.url(), key="ops", body={"said": "{{ inputs.text }}"}, inputs=inputs)
    Workspace.objects.filter(id=acme.id).update(alert_connection="ops", alert_emails="ada@acme.example")
    for _ in range(3):
        held(acme)
    all_at_once([telling.look] * 3)
    all_at_once([telling.tell] * 3)
    assert [mail.subject for mail in mailoutbox] == ["Engage, Acme: 3 alerts"]
    [request] = receiver.arrived
    assert request.body.decode().count("The guard of the journey") == 3
    connection.close()


def test_nothing_is_looked_at_for_nobody_and_nothing_told_by_a_copy(
    acme: Workspace, settings: Any, mailoutbox: Mails, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    held(acme)
    with django_assert_num_queries(6):  # whom to tell; in a savepoint, the lock and what holds; what is due
        tasks.tell()
    settings.SENDING, settings.ALERT_EMAILS = False, ["root@engage.example"]
    with django_assert_num_queries(0):
        tasks.tell()
    assert mailoutbox == []


def test_a_second_factor_that_was_taken_away_is_told_once(
    django_user_model: Any, settings: Any, mailoutbox: Mails
) -> None:
    settings.ALERT_EMAILS = ["root@engage.example"]
    TOTPDevice.objects.create(user=django_user_model.objects.create_user("ada"), name="phone")
    call_command("reset_second_factor", "ada", stdout=io.StringIO())
    presence.say(presence.PROCESSES)
    for _ in range(2):
        look_and_tell()
    assert [mail.subject for mail in mailoutbox] == [
        "Engage, the service: The second factor of the account 'ada' was taken away."
    ]


def seed(workspace: dict[str, Any]) -> None:
    description = read_seed({"workspace": workspace})
    seed_workspace(seed=description, crowd_size=0, renew_keys=False, now=timezone.now())


def test_a_seed_file_says_who_is_told_and_the_export_says_it_again(acme: Workspace) -> None:
    alerts_of = {"emails": ["ada@acme.example", "ops@acme.example"], "connection": "ops"}
    seed({"key": acme.key, "alerts": alerts_of})
    acme.refresh_from_db()
    assert (acme.alert_emails, acme.alert_connection) == ("ada@acme.example, ops@acme.example", "ops")
    assert exported(acme)["workspace"]["alerts"] == alerts_of
    seed({"key": acme.key})
    acme.refresh_from_db()
    assert acme.alert_connection == "ops"
    with pytest.raises(InvalidSeed, match=r"workspace\.alerts\.emails\[0\].*is no e-mail address"):
        seed({"key": acme.key, "alerts": {"emails": ["nobody"]}})


def test_mail_goes_by_the_server_of_the_settings(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert vars(get_connection())["timeout"] == 10
