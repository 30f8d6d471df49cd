"""Who may not view a record sees its bare id where another one refers to it: no link, and not what it is known as."""

import re
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from bridge.models import Interaction
from customers.models import Customer, Event, Segment, SegmentMembership
from engage.admin.columns import page_url
from engage.models import App, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, Trigger, WebhookSecret
from tests.admin.records import MODELS, cells, list_of, named
from tests.admin.staff import needed_to_add, staff_with
from tests.one_of_everything import populate

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


def test_a_list_shows_the_ids_of_what_its_user_may_not_view(customer: Customer) -> None:
    page, _ = seen(staff_with("view_enrollment"), list_of(Enrollment))
    for column in ("workspace", "journey", "customer"):
        assert cells(page, column) == [getattr(Enrollment.objects.get(), f"{column}_id")]
    page, _ = seen(staff_with("view_enrollment", "view_customer"), list_of(Enrollment))
    assert cells(page, "customer") == ["hush-Customer"]
    assert page_url(customer) in page


@pytest.mark.usefixtures("customer")
def test_who_may_change_records_may_view_them_where_others_refer_to_them() -> None:
    page, _ = seen(staff_with("view_trigger", "change_journey"), list_of(Trigger))
    assert page_url(Journey.objects.get()) in page


def test_panels_show_the_ids_of_what_their_user_may_not_view(customer: Customer) -> None:
    job, membership = EnrollmentJob.objects.get(), SegmentMembership.objects.get()
    for client, record in (
        (staff_with("view_trigger", "view_enrollmentjob"), job.trigger),
        (staff_with("view_segment", "view_segmentmembership"), membership.segment),
    ):
        page, _ = seen(client, page_url(record))
        assert customer.pk in page
        assert page_url(customer) not in page
        assert "hush-Customer" not in page


@pytest.mark.usefixtures("customer")
def test_the_page_of_a_job_shows_the_id_of_its_enrollment() -> None:
    job = EnrollmentJob.objects.get()
    page, _ = seen(staff_with("view_enrollmentjob"), page_url(job))
    assert job.enrollment.pk in page
    assert page_url(job.enrollment) not in page
    page, _ = seen(staff_with("view_enrollmentjob", "view_enrollment"), page_url(job))
    assert page_url(job.enrollment) in page


@pytest.mark.usefixtures("customer")
def test_the_page_of_an_enrollment_shows_the_ids_by_which_the_job_and_the_revision_are_known() -> None:
    enrollment, job = Enrollment.objects.get(), EnrollmentJob.objects.get()
    page, _ = seen(staff_with("view_enrollment"), page_url(enrollment))
    for text in (job.job_id, f"revision 1 of {enrollment.journey_id}"):
        assert re.search(rf">\s*{text}\s*<", page)
    assert page_url(job) not in page
    Enrollment.objects.update(job=None)
    page, _ = seen(staff_with("view_enrollment", "view_journey"), page_url(enrollment))
    assert "None" not in strip_tags(page)


@pytest.mark.usefixtures("customer")
def test_the_latest_triggers_show_the_ids_of_their_journeys() -> None:
    journey = Journey.objects.get()
    page, statements = seen(staff_with("view_trigger"), "/admin/")
    assert journey.pk in page
    assert page_url(journey) not in page
    assert journey.name not in page
    assert 'FROM "journeys_journey"' not in statements


@pytest.mark.usefixtures("customer")
def test_the_one_box_tells_the_id_of_a_workspace_that_its_user_may_not_view(acme: Workspace) -> None:
    job = EnrollmentJob.objects.get()
    for permissions, whose in (((), acme.id), (("view_workspace",), "hush-Workspace")):
        client = staff_with("view_enrollmentjob", *permissions)
        results = client.get("/admin/search/", {"extended": "1", "s": job.job_id}).context["results"]
        assert [result.description for result in results] == [f"job of {whose}"]


@pytest.mark.usefixtures("customer")
def test_a_filter_by_what_its_user_may_not_view_takes_an_id(rival: Workspace) -> None:
    client, trigger = staff_with("view_trigger"), Trigger.objects.get()
    for field in ("workspace", "journey"):
        pk = getattr(trigger, f"{field}_id")
        page, _ = seen(client, f"{list_of(Trigger)}?{field}__id__exact={pk}")
        assert f'<input type="text" name="{field}__id__exact" value="{pk}"' in page
        assert "hush-" not in page
        assert page_url(trigger) in page
    page, _ = seen(client, f"{list_of(Trigger)}?workspace__id__exact={rival.id}")
    assert page_url(trigger) not in page


def offered(client: Client, model: type[Model], field: str) -> tuple[dict[str, str], int]:
    """The choices that a filter of the model's list loads, and how many statements that took."""
    whose = {"app_label": model._meta.app_label, "model_name": str(model._meta.model_name), "field_name": field}
    with CaptureQueriesContext(connection) as queries:
        found = client.get("/admin/autocomplete/", {"term": "", **whose}).json()["results"]
    return {choice["id"]: choice["text"] for choice in found}, len(queries)


FILTERS: list[tuple[type[Model], str]] = [(Trigger, "journey"), (SegmentMembership, "segment"), (Interaction, "app")]


@pytest.mark.parametrize(("model", "field"), FILTERS)
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


@pytest.mark.parametrize(("model", "field"), FILTERS)
def test_choices_do_not_name_a_workspace_that_their_user_may_not_view(
    customer: Customer, model: type[Model], field: str
) -> None:
    client = staff_with(f"view_{model._meta.model_name}", f"view_{field}")
    kind: Any = model._meta.get_field(field).related_model
    expected = {one.pk: f"{one.name} · {getattr(one, 'key', one.pk)}" for one in kind.objects.all()}
    assert offered(client, model, field)[0] == expected
    (pk, text), *_ = expected.items()
    page, statements = seen(client, f"{list_of(model)}?{field}__id__exact={pk}")
    assert f">{text}</option>" in page
    assert 'FROM "engage_workspace"' not in statements


def test_a_choice_of_workspaces_names_them_alone(staff: Client, acme: Workspace) -> None:
    assert offered(staff, Trigger, "workspace")[0] == {acme.pk: "Acme"}


@pytest.mark.usefixtures("customer")
@pytest.mark.parametrize("model", ["segment", "app", "apikey", "journey"])
def test_a_form_that_is_refused_names_what_was_chosen_by_its_id(acme: Workspace, model: str) -> None:
    (kind,) = [one for one in MODELS if one._meta.model_name == model]
    for permissions, shown in (((), f' value="{acme.id}"'), (("view_workspace",), "hush-Workspace</option>")):
        client = staff_with(*needed_to_add(model), f"view_{model}", *permissions)
        answer = client.post(list_of(kind) + "add/", {"workspace": acme.id, "name": ""})
        page = answer.content.decode()
        assert answer.status_code == 200
        assert shown in page
        assert permissions or "hush-Workspace" not in page


@pytest.mark.parametrize("model", ["segment", "app", "apikey", "journey", "webhooksecret"])
def test_who_may_not_view_workspaces_writes_the_id_of_one(acme: Workspace, model: str) -> None:
    (kind,) = [one for one in MODELS if one._meta.model_name == model]
    client, add = staff_with(*needed_to_add(model), f"view_{model}"), list_of(kind) + "add/"
    page, _ = seen(client, add)
    assert re.search(r'<input type="text" name="workspace"', page)
    assert "/admin/autocomplete/" not in page
    assert "Workspace id" in page
    chooser = staff_with(*needed_to_add(model), f"view_{model}", "view_workspace")
    assert "/admin/autocomplete/" in seen(chooser, add)[0]
    known = {"name": "New", "key": "new", "rate_limit": "1/s", "trigger_type": "api"}
    for wrong in ("nothing", "0" * 24):
        assert "There is no workspace with this id." in client.post(add, {**known, "workspace": wrong}).content.decode()
    assert not kind._default_manager.exists()
    client.post(add, {**known, "workspace": f" {acme.id} "})
    assert kind._default_manager.filter(workspace=acme).count() == 1


@pytest.mark.usefixtures("customer")
def test_secrets_are_not_found_by_the_key_of_a_workspace_that_their_user_may_not_view(acme: Workspace) -> None:
    client, secrets = staff_with("view_webhooksecret"), list_of(WebhookSecret)
    listed = cells(seen(client, secrets)[0], "workspace")
    assert listed == [acme.id] * WebhookSecret.objects.count()
    for text in (acme.key, "other"):
        assert cells(seen(client, f"{secrets}?q={text}")[0], "workspace") == []
        results = client.get("/admin/search/", {"extended": "1", "s": text}).context["results"]
        assert list(results) == []
    assert cells(seen(client, f"{secrets}?q=+")[0], "workspace") == listed
