"""Signatures as the receivers' library verifies them, and rotation."""

import base64
import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from engage.models import Workspace
from journeys.engine.webhooks.signing import new_secret, signed_headers
from journeys.engine.webhooks.signing_secrets import current_secrets, rotate_webhook_secret
from journeys.models import WebhookSecret
from tests.journeys.webhooks.standing import send, standing
from tests.support.receiver import Arrived, Receiver
from tests.support.simultaneous import all_at_once


def verifies(request: Arrived, secret: str) -> bool:
    try:
        Webhook(secret).verify(request.body, request.headers, json_parse=False)
    except WebhookVerificationError:
        return False
    return True


def secret_of(workspace: Workspace) -> str:
    return current_secrets([workspace.id])[workspace.id]


def test_each_secret_is_of_32_bytes_of_its_own() -> None:
    secrets = [new_secret() for _ in range(100)]
    assert {len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) for secret in secrets} == {32}
    assert len(set(secrets)) == 100


def test_the_library_verifies_a_signature_and_refuses_a_forged_one() -> None:
    secret, body = new_secret(), '{"name": "Zoë"}'.encode()
    now = int(timezone.now().timestamp())
    headers = signed_headers(webhook_id="msg_1", timestamp=now, body=body, signing_secrets=[secret])
    assert Webhook(secret).verify(body, headers) == {"name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)


@pytest.mark.django_db
def test_what_arrives_is_signed_with_the_secret_of_its_workspace(
    acme: Workspace, rival: Workspace, receiver: Receiver
) -> None:
    ours, theirs = secret_of(acme), secret_of(rival)
    [delivery] = standing(acme, receiver.url(), body='{"name": "Zoë"}')
    send()
    [request] = receiver.arrived
    assert request.webhook_id == delivery.webhook_id
    assert json.loads(request.body) == {"name": "Zoë"}
    assert verifies(request, ours)
    assert not verifies(request, theirs)


@pytest.mark.django_db
def test_a_request_without_a_body_is_signed_too(acme: Workspace, receiver: Receiver) -> None:
    standing(acme, receiver.url(), method="GET", body=None)
    send()
    assert receiver.arrived[0].method == "GET"
    assert verifies(receiver.arrived[0], secret_of(acme))


@pytest.mark.django_db
def test_both_secrets_sign_while_a_rotation_is_under_way(acme: Workspace, receiver: Receiver) -> None:
    former = secret_of(acme)
    fresh = rotate_webhook_secret(workspace_id=acme.id, now=timezone.now())
    standing(acme, receiver.url())
    send()
    assert verifies(receiver.arrived[0], former)
    assert verifies(receiver.arrived[0], fresh)
    receiver.arrived[0].headers["webhook-signature"] = receiver.arrived[0].headers["webhook-signature"].split()[0]
    assert verifies(receiver.arrived[0], fresh)  # some receivers look at the first one only
    WebhookSecret.objects.filter(secret=former).update(retires_at=timezone.now() - timedelta(minutes=1))
    standing(acme, receiver.url())
    send()
    assert not verifies(receiver.arrived[1], former)
    assert verifies(receiver.arrived[1], fresh)


@pytest.mark.django_db
def test_a_rotation_gives_a_day_of_grace_or_what_is_asked_for(acme: Workspace, rival: Workspace) -> None:
    untouched = secret_of(rival)
    now = timezone.now()
    first = secret_of(acme)
    second = rotate_webhook_secret(workspace_id=acme.id, now=now)
    assert WebhookSecret.objects.get(secret=first).retires_at == now + timedelta(hours=24)
    third = rotate_webhook_secret(workspace_id=acme.id, now=now, grace=timedelta(0))
    assert {row.retires_at for row in WebhookSecret.objects.filter(secret__in=[first, second])} == {now}
    assert secret_of(acme) == third
    rotate_webhook_secret(workspace_id=acme.id, now=now)
    retiring = WebhookSecret.objects.filter(workspace=acme).exclude(retires_at=None)
    assert {row.secret for row in retiring} == {third}
    assert secret_of(rival) == untouched


@pytest.mark.django_db
def test_a_secret_that_retires_already_keeps_its_time(acme: Workspace) -> None:
    first, now = secret_of(acme), timezone.now()
    second = rotate_webhook_secret(workspace_id=acme.id, now=now)
    rotate_webhook_secret(workspace_id=acme.id, now=now + timedelta(hours=1))
    retiring = WebhookSecret.objects.exclude(retires_at=None)
    assert {row.secret: row.retires_at for row in retiring} == {
        first: now + timedelta(hours=24),
        second: now + timedelta(hours=25),
    }


@pytest.mark.django_db(transaction=True)
def test_many_at_once_who_need_a_secret_get_the_same_one(acme: Workspace) -> None:
    assert len(set(all_at_once([lambda: secret_of(acme)] * 8))) == 1
    assert WebhookSecret.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_rotations_at_once_come_one_after_the_other(acme: Workspace) -> None:
    def rotate() -> str:
        return rotate_webhook_secret(workspace_id=acme.id, now=timezone.now())

    fresh = all_at_once([rotate] * 6)
    assert len(set(fresh)) == 6
    assert secret_of(acme) in fresh
    assert WebhookSecret.objects.filter(retires_at=None).count() == 1
    assert WebhookSecret.objects.count() == 7


@pytest.mark.django_db
def test_the_commands_show_and_rotate_a_workspaces_secret(acme: Workspace) -> None:
    def said(*command: str) -> str:
        output = StringIO()
        call_command(*command, stdout=output)
        return output.getvalue().strip()

    former = said("webhook_secret", "acme")
    assert former == secret_of(acme)
    fresh = said("rotate_webhook_secret", "acme")
    assert fresh == said("webhook_secret", "acme") != former
    with pytest.raises(CommandError, match="There is no workspace 'acmee'"):
        call_command("rotate_webhook_secret", "acmee")
    with pytest.raises(CommandError, match="There is no workspace 'acmee'"):
        call_command("webhook_secret", "acmee")
    with pytest.raises(CommandError, match="--grace must be from 0"):
        call_command("rotate_webhook_secret", "acme", "--grace", "-1")
    assert WebhookSecret.objects.count() == 2
