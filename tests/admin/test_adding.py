"""What staff find filled in where they add something, what tells who made it, and what leads back."""

import re
from html import unescape

from django.contrib import admin
from django.db.models import Model
from django.test import Client

from customers.models import Segment
from engage.admin.parts.columns import page_url
from engage.models import Membership, Workspace
from journeys.models import Connection, Enrollment, Journey, JourneyRevision
from tests.admin.journey_form import said
from tests.admin.records import MODELS, READ_ONLY, list_of
from tests.admin.staff import member
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory


def selected(browser: Client, model: type[Model], query: str = "") -> list[str]:
    """The workspaces that are chosen on the page that adds one."""
    page = browser.get(f"{list_of(model)}add/{query}").content.decode()
    field = re.search(r'<select name="workspace".*?</select>', page, re.DOTALL)
    assert field, page
    return re.findall(r'<option value="(\w+)" selected', field[0])


def test_a_member_of_one_workspace_need_not_choose_it(acme: Workspace, rival: Workspace) -> None:
    one, several = member("ada", acme="admin"), member("eve", acme="admin", rival="admin")
    of_workspaces = [
        model
        for model in MODELS
        if model not in (*READ_ONLY, Membership)
        and "workspace" in admin.site.get_model_admin(model).autocomplete_fields
    ]
    assert {Journey, Segment, Connection} < {*of_workspaces}
    for model in of_workspaces:
        assert selected(one, model) == [acme.pk]
        assert selected(several, model) == []
        assert selected(several, model, f"?workspace={rival.pk}") == [rival.pk]
    assert selected(one, Connection, "?preset=slack") == [acme.pk]


def test_a_key_is_made_from_the_name_where_there_are_both(acme: Workspace, staff: Client) -> None:
    for model in MODELS:
        names = {field.name for field in model._meta.fields}
        page = staff.get(f"{list_of(model)}add/")
        if page.status_code == 200:
            made = (
                "#id_key" in unescape(page.content.decode()).partition("data-prepopulated-fields")[2].partition(">")[0]
            )
            assert made == ({"key", "name"} <= names), model
    journey = JourneyFactory.create(workspace=acme)
    assert "#id_key" not in staff.get(page_url(journey)).content.decode().partition("data-prepopulated-fields")[2]


def test_a_revision_tells_who_made_it(acme: Workspace, staff: Client, server: ServerClient) -> None:
    path = f"/api/v1/journeys/{acme.id}/welcome"
    data(server.put(path, {"name": "Welcome", "steps": []}), status=201)
    journey = Journey.objects.get()
    waits = [{"id": "wait", "type": "delay", "for": "P1D"}]
    assert staff.post(page_url(journey), said(name="Welcome", steps=waits)).status_code == 302
    made = dict(JourneyRevision.objects.values_list("number", "made_by"))
    assert made == {1: f"key {server.key.name}", 2: "staff root"}
    for page in (page_url(journey), page_url(JourneyRevision.objects.get(number=2))):
        assert "staff root" in staff.get(page).content.decode()


def test_no_way_back_names_the_same_twice(staff: Client, acme: Workspace) -> None:
    for model in MODELS:
        page = staff.get(list_of(model)).content.decode()
        way = re.findall(r"<(?:a|span)[^>]* min-w-0 truncate[^>]*>\s*(.*?)\s*</", page, re.DOTALL)
        assert "{#" not in page
        assert way, model
        assert len(way) == len({name.lower() for name in way}), way


def test_an_enrollment_s_page_has_nothing_of_how_workers_share_their_work(
    acme: Workspace, staff: Client, server: ServerClient
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    page = staff.get(page_url(Enrollment.objects.get())).content.decode()
    assert "Due at" in page
    assert [told for told in ("Claimed until", "Was due at", "Crowd") if told in page] == []
