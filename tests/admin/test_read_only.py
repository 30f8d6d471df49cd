"""What the service decided cannot be changed by hand, and who may only look cannot change anything."""

from typing import Any

import pytest
from django.db.models import Model
from django.test import Client

from customers.models import Customer
from engage.admin.columns import page_url
from engage.models import ApiKey, App, Workspace
from tests.admin.records import MODELS, READ_ONLY, list_of, named, populate


def snapshot(model: type[Model]) -> list[Any]:
    return list(model._default_manager.order_by("pk").values())


def addresses_of_change(record: Model) -> list[str]:
    """Where a record is made, changed and deleted."""
    page = page_url(record)
    return [f"{list_of(type(record))}add/", page, page.replace("/change/", "/delete/")]


BUT_CUSTOMERS = [model for model in READ_ONLY if model is not Customer]


@pytest.mark.parametrize("model", BUT_CUSTOMERS, ids=named)
def test_what_the_service_decided_cannot_be_made_changed_or_deleted(
    staff: Client, acme: Workspace, model: type[Model]
) -> None:
    populate(acme, rows=1)
    before = snapshot(model)
    for url in addresses_of_change(model._default_manager.earliest("pk")):
        assert staff.post(url, {"post": "yes", "name": "changed", "status": "decided"}).status_code == 403
    assert snapshot(model) == before


@pytest.mark.parametrize("model", READ_ONLY, ids=named)
def test_a_page_of_what_the_service_decided_has_no_inputs(staff: Client, acme: Workspace, model: type[Model]) -> None:
    populate(acme, rows=1)
    page = staff.get(page_url(model._default_manager.earliest("pk"))).content.decode()
    assert 'id="id_' not in page
    assert 'name="_save"' not in page


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_who_may_only_look_can_change_nothing(onlooker: Client, acme: Workspace, model: type[Model]) -> None:
    populate(acme, rows=1)
    before = snapshot(model)
    record = model._default_manager.earliest("pk")
    assert 'name="_save"' not in onlooker.get(page_url(record)).content.decode()
    for url in addresses_of_change(record):
        assert onlooker.post(url, {"post": "yes", "name": "changed", "key": "changed"}).status_code == 403
    assert snapshot(model) == before


@pytest.mark.parametrize("model", [Workspace, ApiKey, App], ids=named)
def test_what_others_hang_on_is_never_deleted_by_hand(staff: Client, acme: Workspace, model: type[Model]) -> None:
    populate(acme, rows=1)
    record = model._default_manager.earliest("pk")
    assert staff.post(page_url(record).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
    assert model._default_manager.filter(pk=record.pk).exists()


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_strangers_are_sent_to_the_login(acme: Workspace, model: type[Model]) -> None:
    populate(acme, rows=1)
    for url in (list_of(model), page_url(model._default_manager.earliest("pk"))):
        assert Client().get(url)["Location"].startswith("/admin/login/")
