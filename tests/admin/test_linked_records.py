"""Who may not view a kind of record sees nothing of it where others refer to it."""

import re
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bridge.models import Interaction
from customers.models import Customer, Event, Segment, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.models import App, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, Trigger, WebhookSecret
from tests.admin.records import ALL_SCOPES, MODELS, NO_CHECKS, cells, list_of, named
from tests.admin.staff import needed_to_add, staff_with
from tests.support.cases import each
from tests.support.one_of_everything import populate

NAMED: dict[type[Model], str] = {
    Workspace: "name",
    App: "name",
    Customer: "external_id",
    Segment: "name",
    Event: "name",
    Journey: "name",
}


@pytest.fixture
def customer(acme: Workspace) -> Customer:
    """Acme's only one, with one of everything; each record that has a name is called by that of its model."""
    (customer,) = populate(acme, rows=1)
    for model, field in NAMED.items():
        model._default_manager.update(**{field: f"hush-{named(model)}"})
    customer.refresh_from_db()
    return customer


def seen(client: Client, url: str) -> tuple[str, str]:
    """The page, and the statements that made it."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode(), "\n".join(query["sql"] for query in queries)


@pytest.mark.slow
@pytest.mark.usefixtures("customer")
def test_lists_and_pages_show_nothing_of_what_their_user_may_not_view(subtests: pytest.Subtests) -> None:
    for model in MODELS:
        client = staff_with(f"view_{model._meta.model_name}")
        for url in (list_of(model), page_url(model._default_manager.earliest("pk"))):
            with subtests.test(model=named(model), url=url):
                page, statements = seen(client, url)
                for other in {*MODELS} - {model}:
                    assert not [one for one in other._default_manager.all() if page_url(one) in page]
                for other in NAMED.keys() - {model}:
                    assert f"hush-{named(other)}" not in page
                    assert f'FROM "{other._meta.db_table}"' not in statements


SAID: dict[type[Model], dict[str, Any]] = {
    Event: {"properties": {"city": "hush-said"}},
    Interaction: {
        "form_data": {"city": "hush-said"},
        "attributes_written": ["hush-said"],
        "message_problems": [{"reason": "unknown", "field": "hush-said"}],
    },
    Trigger: {"payload": {"city": "hush-said"}},
}


@pytest.mark.usefixtures("customer")
@pytest.mark.parametrize("model", SAID, ids=named)
def test_what_people_did_and_said_is_told_to_who_may_view_customers(model: type[Model]) -> None:
    model._default_manager.update(**SAID[model])
    own, url = f"view_{model._meta.model_name}", page_url(model._default_manager.get())
    for permissions, told in (([own], 0), ([own, "view_customer"], len(SAID[model]))):
        page, _ = seen(staff_with(*permissions), url)
        assert page.count("hush-said") == told
        assert page.count("•••") == len(SAID[model]) - told


def test_a_list_has_the_columns_and_filters_that_its_user_may_view(customer: Customer) -> None:
    for permissions, shown in ((["view_enrollment"], []), (["view_enrollment", "view_customer"], ["customer"])):
        page, _ = seen(staff_with(*permissions), list_of(Enrollment))
        assert [column for column in ("workspace", "journey", "customer") if cells(page, column)] == shown
        assert re.findall(r'name="(\w+)__id__exact"', page) == shown
        assert (page_url(customer) in page) == bool(shown)


@pytest.mark.usefixtures("customer")
def test_who_may_change_records_may_view_them_where_others_refer_to_them() -> None:
    page, _ = seen(staff_with("view_trigger", "change_journey"), list_of(Trigger))
    assert page_url(Journey.objects.get()) in page


@pytest.mark.usefixtures("customer")
def test_panels_and_pages_leave_out_what_their_user_may_not_view() -> None:
    job = EnrollmentJob.objects.get()
    for client, record, other in (
        (staff_with("view_trigger", "view_enrollmentjob"), job.trigger, job.customer),
        (staff_with("view_enrollmentjob"), job, job.enrollment),
    ):
        page, _ = seen(client, page_url(record))
        assert page_url(other) not in page
        assert f">{other.pk}<" not in page
    page, _ = seen(staff_with("view_enrollmentjob", "view_enrollment"), page_url(job))
    assert page_url(job.enrollment) in page


@pytest.mark.usefixtures("customer")
def test_the_latest_triggers_tell_their_journeys_to_who_may_view_them() -> None:
    journey = Journey.objects.get()
    page, statements = seen(staff_with("view_trigger"), "/admin/")
    assert journey.pk not in page
    assert 'FROM "journeys_journey"' not in statements
    assert page_url(journey) in seen(staff_with("view_trigger", "view_journey"), "/admin/")[0]


@pytest.mark.usefixtures("customer")
def test_the_one_box_tells_the_workspace_to_who_may_view_it() -> None:
    job = EnrollmentJob.objects.get()
    for permissions, told in (((), "job"), (("view_workspace",), "job of hush-Workspace")):
        client = staff_with("view_enrollmentjob", *permissions)
        results = client.get("/admin/search/", {"extended": "1", "s": job.job_id}).context["results"]
        assert [result.description for result in results] == [told]


def offered(client: Client, model: type[Model], field: str) -> tuple[dict[str, str], int]:
    """The choices that a filter of the model's list loads, and how many statements that took."""
    whose = {"app_label": model._meta.app_label, "model_name": str(model._meta.model_name), "field_name": field}
    with CaptureQueriesContext(connection) as queries:
        found = client.get("/admin/autocomplete/", {"term": "", **whose}).json()["results"]
    return {choice["id"]: choice["text"] for choice in found}, len(queries)


FILTERS: list[tuple[type[Model], str]] = [(Trigger, "journey"), (SegmentMembership, "segment"), (Interaction, "app")]


@each("model, field", FILTERS)
def test_choices_of_one_name_are_told_apart_by_their_workspaces(
    acme: Workspace, rival: Workspace, model: type[Model], field: str
) -> None:
    populate(acme, rows=1)
    client = staff_with(f"view_{model._meta.model_name}", f"view_{field}", "view_workspace")
    before, queries_before = offered(client, model, field)
    populate(rival, rows=1)
    kind: Any = model._meta.get_field(field).related_model
    kind.objects.update(name="Welcome")
    choices, queries = offered(client, model, field)
    assert choices == {one.pk: f"Welcome · {one.workspace.name}" for one in kind.objects.all()}
    assert sorted(choices.values()) == ["Welcome · Acme", "Welcome · Rival"]
    assert (len(before), queries) == (1, queries_before)
    for pk, text in choices.items():
        page, _ = seen(client, f"{list_of(model)}?{field}__id__exact={pk}")
        assert re.search(rf'<option value="{pk}" selected[^>]*>{text}</option>', page)


def test_a_choice_of_workspaces_names_them_alone(staff: Client, acme: Workspace) -> None:
    assert offered(staff, Trigger, "workspace")[0] == {acme.pk: "Acme"}


@each("model", ["segment", "app", "apikey", "journey", "webhooksecret"])
def test_who_may_not_view_workspaces_adds_nothing_to_one(acme: Workspace, model: str) -> None:
    (kind,) = [one for one in MODELS if one._meta.model_name == model]
    client, add = staff_with(*{*needed_to_add(model)} - {"view_workspace"}, f"view_{model}"), list_of(kind) + "add/"
    known = {"name": "New", "key": "new", "rate_limit": "1/s", "trigger_type": "api", "workspace": acme.id}
    known |= NO_CHECKS | ALL_SCOPES
    for answer in (client.get(add), client.post(add, known)):
        assert answer.status_code == 403
        assert "permission to view workspace" in answer.content.decode()
    assert add not in seen(client, list_of(kind))[0]
    assert not kind._default_manager.exists()
    assert staff_with(*needed_to_add(model), f"view_{model}").post(add, known).status_code != 403
    assert kind._default_manager.filter(workspace=acme).count() == 1


@pytest.mark.usefixtures("customer")
def test_secrets_are_not_found_by_the_key_of_a_workspace_that_their_user_may_not_view(acme: Workspace) -> None:
    client, secrets = staff_with("view_webhooksecret"), list_of(WebhookSecret)
    for text in (acme.key, "other"):
        assert cells(seen(client, f"{secrets}?q={text}")[0], "validity") == []
        results = client.get("/admin/search/", {"extended": "1", "s": text}).context["results"]
        assert list(results) == []
    assert len(cells(seen(client, f"{secrets}?q=+")[0], "validity")) == WebhookSecret.objects.count()
