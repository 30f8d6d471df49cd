"""Subscriptions in the admin: made and changed by the same rules as by a call, tried, and resumed where paused."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import AuditEntry, Workspace
from journeys.models import Push, Subscription
from journeys.subscription.resource import SUBSCRIPTIONS
from tests.admin.forms import edit, form_of

pytestmark = pytest.mark.django_db
ADD = "/admin/journeys/subscription/add/"


def test_it_is_made_changed_and_deleted(staff: Client, acme: Workspace) -> None:
    said: dict[str, Any] = {
        "workspace": acme.pk,
        "key": "crm",
        "url": "ftp://crm.example",
        "batch": 10,
        "journeys": "none",
    }
    page = staff.post(ADD, said).content.decode()
    assert "The URL must begin with http:// or https://" in page
    assert "no key of a journey" in page
    staff.post(ADD, {**said, "url": "https://crm.example/", "journeys": "", "types": ["job.decided"]})
    made = Subscription.objects.get()
    assert (made.types, made.journeys, made.host) == (["job.decided"], None, "crm.example:443")
    acme.refresh_from_db()
    assert acme.subscribed
    edit(staff, made, form_of(staff, made), url="https://other.example/", types=None)
    made.refresh_from_db()
    assert (made.types, made.host) == (None, "other.example:443")
    staff.post(page_url(made).replace("/change/", "/delete/"), {"post": "yes"})
    acme.refresh_from_db()
    assert (Subscription.objects.count(), acme.subscribed) == (0, False)
    actions = AuditEntry.objects.filter(object_kind="subscription").order_by("at", "id")
    assert [one.action for one in actions] == ["created", "changed", "deleted"]


def test_a_paused_one_is_shown_tried_and_resumed(staff: Client, acme: Workspace) -> None:
    crm = SUBSCRIPTIONS.save(workspace=acme, key="crm", now=timezone.now(), url="https://crm.example/").row
    assert "Paused:" not in staff.get("/admin/").content.decode()
    Subscription.objects.update(paused_at=timezone.now(), last_failure="Answered 500.")
    assert "Paused:" in staff.get("/admin/").content.decode()
    address = page_url(crm).replace("change/", "")
    assert "Answered 500." in staff.get(page_url(crm)).content.decode()
    staff.post(f"{address}test/")
    assert Push.objects.get().test
    staff.post(f"{address}resume/")
    crm.refresh_from_db()
    assert crm.paused_at is None
