"""Pages of variables: made, changed, and deleted if no definition reads them."""

import json
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.journey.authoring import save_journey
from journeys.models import Variable
from tests.admin.staff import member

pytestmark = pytest.mark.django_db
NOTE = {"id": "note", "type": "update_profile", "attributes": {"shop": "{{ vars.shop }}"}}
ADD = "/admin/journeys/variable/add/"


@pytest.mark.slow
def test_pages_make_change_and_delete_them(staff: Client, acme: Workspace) -> None:
    sent = {"workspace": acme.id, "name": "shop", "value": '"Garden"'}
    for field, wrong in (("name", "odd name"), ("value", "Garden"), ("value", ""), ("value", json.dumps("x" * 65_536))):
        assert staff.post(ADD, {**sent, field: wrong}).status_code == 200, wrong
    assert not Variable.objects.exists()
    assert staff.post(ADD, sent).status_code == 302
    shop = Variable.objects.get()
    save_journey(workspace=acme, key="welcome", now=timezone.now(), steps=[NOTE])
    assert staff.post(page_url(shop), {"value": '["Garden"]'}).status_code == 302
    page = staff.post(page_url(shop).replace("/change/", "/delete/"), {"post": "yes"}, follow=True).content.decode()
    assert "The variable shop is read by the journey welcome; it cannot be deleted." in unescape(page)
    shop.refresh_from_db()
    assert shop.value == ["Garden"]
    save_journey(workspace=acme, key="welcome", now=timezone.now(), steps=[])
    staff.post(page_url(shop).replace("/change/", "/delete/"), {"post": "yes"})
    assert not Variable.objects.exists()


def test_authors_change_them_and_support_looks(acme: Workspace) -> None:
    sent = {"workspace": acme.id, "name": "shop", "value": '"Garden"'}
    for role in ("viewer", "support"):
        client = member(role, acme=role)
        assert client.get("/admin/journeys/variable/").status_code == 200
        assert client.post(ADD, sent).status_code == 403
    for role in ("author", "admin"):
        assert member(role, acme=role).post(ADD, {**sent, "name": role}).status_code == 302
