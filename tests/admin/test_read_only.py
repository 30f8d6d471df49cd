"""What the service decided cannot be changed by hand, and who may only look cannot change anything."""

from typing import Any

import pytest
from django.db.models import Model
from django.test import Client

from customers.models import Customer, Segment
from engage.admin.parts.columns import page_url
from engage.models import ApiKey, App, AuditEntry, Workspace
from journeys.models import Journey, Trigger
from tests.admin.records import MODELS, READ_ONLY, list_of, named
from tests.admin.staff import staff_with
from tests.support.cases import each
from tests.support.one_of_everything import populate
from tests.support.tables import taken_back


def snapshot(model: type[Model]) -> list[Any]:
    """Of the audit without what tells that something was refused."""
    rows = model._default_manager.order_by("pk")
    return list(rows.exclude(action="refused").values() if model is AuditEntry else rows.values())


def addresses_of_change(record: Model) -> list[str]:
    """Where a record is made, changed and deleted."""
    page = page_url(record)
    return [f"{list_of(type(record))}add/", page, page.replace("/change/", "/delete/")]


BUT_CUSTOMERS = [model for model in READ_ONLY if model is not Customer]


@pytest.mark.slow
def test_what_the_service_decided_cannot_be_made_changed_or_deleted(
    staff: Client, acme: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=1)
    for model in BUT_CUSTOMERS:
        with subtests.test(model=named(model)), taken_back():
            before = snapshot(model)
            for url in addresses_of_change(model._default_manager.earliest("pk")):
                assert staff.post(url, {"post": "yes", "name": "changed", "status": "decided"}).status_code == 403
            assert snapshot(model) == before


@pytest.mark.slow
def test_a_page_of_what_the_service_decided_has_no_inputs(
    staff: Client, acme: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=1)
    for model in READ_ONLY:
        with subtests.test(model=named(model)):
            page = staff.get(page_url(model._default_manager.earliest("pk"))).content.decode()
            assert 'id="id_' not in page
            assert 'name="_save"' not in page


@pytest.mark.slow
def test_who_may_only_look_can_change_nothing(onlooker: Client, acme: Workspace, subtests: pytest.Subtests) -> None:
    populate(acme, rows=1)
    for model in MODELS:
        with subtests.test(model=named(model)), taken_back():
            before = snapshot(model)
            record = model._default_manager.earliest("pk")
            assert 'name="_save"' not in onlooker.get(page_url(record)).content.decode()
            for url in addresses_of_change(record):
                assert onlooker.post(url, {"post": "yes", "name": "changed", "key": "changed"}).status_code == 403
            assert snapshot(model) == before


def test_what_others_hang_on_is_never_deleted_by_hand(
    staff: Client, acme: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=1)
    for model in (Workspace, ApiKey, App):
        with subtests.test(model=named(model)), taken_back():
            record = model._default_manager.earliest("pk")
            assert staff.post(page_url(record).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
            assert model._default_manager.filter(pk=record.pk).exists()


@each("model, name", [(Customer, "external_id"), (Segment, "name")])
def test_who_may_not_view_a_record_neither_reads_nor_deletes_it(acme: Workspace, model: type[Model], name: str) -> None:
    populate(acme, rows=1)
    model._default_manager.update(**{name: "hush"})
    record, kind = model._default_manager.get(), model._meta.model_name
    asking = page_url(record).replace("/change/", "/delete/")
    client = staff_with(f"delete_{kind}")
    for answer in (client.get(asking), client.post(asking, {"post": "yes"}, follow=True)):
        assert answer.status_code == 403
        assert "hush" not in answer.content.decode()
    assert model._default_manager.filter(pk=record.pk).exists()
    client = staff_with(f"delete_{kind}", f"view_{kind}")
    assert "hush" in client.get(asking).content.decode()
    client.post(asking, {"post": "yes"})
    assert not model._default_manager.filter(pk=record.pk).exists()


@pytest.mark.slow
def test_who_is_refused_what_nobody_may_do_is_told_so_and_why(
    staff: Client, onlooker: Client, acme: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=1)
    for model in MODELS:
        with subtests.test(model=named(model)):
            add, _, delete = addresses_of_change(model._default_manager.earliest("pk"))
            for url in (add, delete):
                answer = staff.get(url)
                assert answer.status_code == 200 or "can grant it" not in answer.content.decode()
    for url, why in (
        (f"{list_of(Trigger)}add/", "they are not made by hand."),
        (page_url(Trigger.objects.get()).replace("/change/", "/delete/"), "they are not deleted by hand."),
        (page_url(Journey.objects.get()).replace("/change/", "/delete/"), "Archive it instead."),
    ):
        for client in (staff, onlooker):
            assert why in client.get(url).content.decode()


def test_strangers_are_sent_to_the_login(acme: Workspace, subtests: pytest.Subtests) -> None:
    populate(acme, rows=1)
    for model in MODELS:
        with subtests.test(model=named(model)):
            for url in (list_of(model), page_url(model._default_manager.earliest("pk"))):
                assert Client().get(url)["Location"].startswith("/admin/login/")
