"""Staff who may see what signs a workspace's webhooks, and rotate it."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.models import WebhookSecret
from tests.admin.records import cells
from tests.admin.staff import staff_with
from tests.support.audit import told, written

LIST = "/admin/journeys/webhooksecret/"


@pytest.fixture
def secret(acme: Workspace, rival: Workspace) -> WebhookSecret:
    current_secrets([acme.id, rival.id])
    return WebhookSecret.objects.get(workspace=acme)


def signing(workspace: Workspace) -> list[tuple[str, bool]]:
    """The workspace's secrets, the oldest first, and which of them retire."""
    secrets = WebhookSecret.objects.filter(workspace=workspace).order_by("id")
    return [(secret.secret, secret.retires_at is not None) for secret in secrets]


def test_the_secret_is_shown_on_its_own_page_alone(staff: Client, acme: Workspace, secret: WebhookSecret) -> None:
    assert secret.secret in staff.get(page_url(secret)).content.decode()
    for url in (LIST, page_url(acme), "/admin/"):
        assert secret.secret not in staff.get(url).content.decode()
    assert page_url(secret) in staff.get(page_url(acme)).content.decode()


def make(staff: Client, workspace: Workspace) -> None:
    assert staff.post(f"{LIST}add/", {"workspace": workspace.id}).status_code == 302


def test_rotating_makes_a_new_secret_beside_the_former_one(
    staff: Client, acme: Workspace, rival: Workspace, secret: WebhookSecret
) -> None:
    foreign = signing(rival)
    page = staff.get(page_url(secret)).content.decode()
    (form,) = re.findall(r'href="(/admin/journeys/webhooksecret/add/\?workspace=\w+)"', page)
    asked = staff.get(form).content.decode()
    assert f'<option value="{acme.id}" selected' in asked
    assert "signs as well until a day has passed" in asked
    make(staff, acme)
    (former, former_retires), (fresh, fresh_retires) = signing(acme)
    assert (former, former_retires, fresh_retires) == (secret.secret, True, False)
    assert current_secrets([acme.id]) == {acme.id: fresh} != {acme.id: former}
    assert sorted(cells(staff.get(LIST).content.decode(), "validity")) == ["in use", "in use", "retiring"]
    WebhookSecret.objects.filter(pk=secret.pk).update(retires_at=timezone.now())
    assert sorted(cells(staff.get(LIST).content.decode(), "validity")) == ["in use", "in use", "retired"]
    assert signing(rival) == foreign
    assert told()
    assert fresh not in written()


def test_a_workspace_gets_its_first_secret_before_it_needs_one(staff: Client, acme: Workspace) -> None:
    make(staff, acme)
    assert [retires for _, retires in signing(acme)] == [False]
    assert WebhookSecret.objects.get().secret.startswith("whsec_")


def test_a_secret_is_neither_edited_nor_deleted(staff: Client, acme: Workspace, secret: WebhookSecret) -> None:
    assert staff.post(page_url(secret), {"secret": "mine", "retires_at_0": "2026-01-01"}).status_code == 403
    assert staff.post(page_url(secret).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
    assert signing(acme) == [(secret.secret, False)]


def test_who_may_see_secrets_may_not_rotate_them(acme: Workspace, secret: WebhookSecret) -> None:
    support = staff_with("view_webhooksecret")
    page = support.get(page_url(secret)).content.decode()
    assert secret.secret in page
    assert "Rotate" not in page
    assert support.post(f"{LIST}add/", {"workspace": acme.id}).status_code == 403
    assert signing(acme) == [(secret.secret, False)]


def test_others_see_nothing_of_them(acme: Workspace, secret: WebhookSecret) -> None:
    support = staff_with("view_workspace", "view_enrollment")
    assert support.get(page_url(secret)).status_code == 403
    assert support.get(LIST).status_code == 403
    assert page_url(secret) not in support.get(page_url(acme)).content.decode()
