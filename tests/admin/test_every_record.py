"""Every kind of record has a list and a page, which are fast and survive records that are gone."""

import re

import pytest
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models import AutoField, Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags
from django.utils.text import capfirst

from bridge.models import Message
from customers.models import Customer, Segment, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.models import ApiKey, App, IdentityKey, Workspace
from journeys.models import Chunk, EnrollmentJob, Journey, Trigger, WebhookDelivery, WebhookSecret
from tests.admin.records import MODELS, list_of, named
from tests.admin.staff import needed_to_add, staff_with
from tests.support.factories import crowd
from tests.support.one_of_everything import live_through, populate, queue_job

# What the page of a record does not show under the field's name, and why.
NOT_SHOWN = {
    "ApiKey.digest": "the secret itself is shown once",
    "ApiKey.id": "its name and its prefix tell which it is",
    "AuditEntry.position": "only tells in which order calls read it",
    "ContactRules.digest_key": "nobody sees it: suppressed addresses are found by what it makes of them",
    "Customer.watched": "only tells writers that a wait may look at it",
    "Enrollment.awaits_event": "the timeline says it in words",
    "Enrollment.chain": "only bounds how long events lead to further events",
    "Enrollment.error": "the timeline says it in words",
    "Enrollment.event": "what it led to stands in the timeline",
    "Enrollment.moves": "the timeline says them in words",
    "Enrollment.steps_begun": "the timeline shows the steps",
    "Enrollment.watches_until": "the timeline says it in words",
    "EnrollmentJob.holds_entrance": "its result says it",
    "EnrollmentJob.queued_as": "it is the job id then",
    **{f"Enrollment.{name}": "only says how it is walked" for name in ("claimed_until", "crowd", "was_due_at")},
    "Event.chain": "only bounds how long events lead to further events",
    "Event.serial": "only tells which event came first",
    "IdentityKey.secret": "nobody sees it again",
    **{
        f"Journey.{name}": "its state, a banner and the steering acts tell what was done"
        for name in (
            "aborted_at",
            "aborted_serial",
            "held_at",
            "held_because",
            "held_by",
            "moves_to",
            "next_release_at",
            "per_minute",
            "resumed_at",
        )
    },
    "JourneyRevision.exit_events": "the names in exit_on",
    "JourneyRevision.key_order": "the order in which its JSON is shown",
    **{
        f"{kind}.key_orders": "the order in which its JSON is shown"
        for kind in ("Connection", "ContactRules", "Journey", "Message", "Segment", "Topic")
    },
    "Connection.next_at": "only counts the rate",
    **{
        f"Push.{side}_{name}": "only says which events it has"
        for side in ("after", "last")
        for name in ("number", "position")
    },
    "Push.own_id": "a part of the webhook-id, which its title is",
    "Subscription.number": "how far it has come; the pushes show it",
    "Subscription.position": "how far it has come; the pushes show it",
    "SteeredHost.next_at": "only counts the rate",
    "SteeringAct.id": "what was done, when and to what tells which it is",
    "SteeringAct.numbers": "told in words",
    "Trigger.called_by": "the table of the call says it",
    "Trigger.keeps_progress": "only says how its results are counted",
    "Trigger.selection": "the table of the call says it",
    "Trigger.serial": "only tells which events came after it",
    "WebhookSecret.secret": "hidden behind a click",
    "Workspace.subscribed": "says that events are written, as the feed does",
}


def queries_of(client: Client, url: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return [query["sql"] for query in captured.captured_queries]


@pytest.mark.slow
def test_a_list_shows_the_records_of_every_tenant(
    staff: Client, acme: Workspace, rival: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=1)
    populate(rival, rows=1)
    for model in MODELS:
        with subtests.test(model=named(model)):
            page = staff.get(list_of(model)).content.decode()
            for record in model._default_manager.all():
                assert page_url(record) in page
            assert "?o=" not in page  # no column sorts it


@pytest.mark.slow
def test_a_list_narrowed_to_one_workspace_shows_nothing_of_the_other(
    staff: Client, acme: Workspace, rival: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=1)
    populate(rival, rows=1)
    for model in MODELS:
        with subtests.test(model=named(model)):
            field = "id" if model is Workspace else "workspace"
            page = staff.get(f"{list_of(model)}?{field}__exact={acme.id}").content.decode()
            if hasattr(model, "workspace") and model is not SegmentMembership:
                assert 'name="workspace__id__exact"' in page
            for record in model._default_manager.all():
                assert (page_url(record) in page) == (getattr(record, f"{field}_id", record.pk) == acme.id)


@pytest.mark.slow
def test_a_page_shows_every_field_in_rows_that_are_wide_enough(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=1)
    not_shown, too_narrow = set(), set()
    for model in MODELS:
        form = staff.get(page_url(model._default_manager.earliest("pk"))).context["adminform"]
        shown = {getattr(column, "field", column) for column in flatten_fieldsets(form.fieldsets)}
        fields = {field.name for field in model._meta.concrete_fields if not isinstance(field, AutoField)}
        not_shown |= {f"{named(model)}.{field}" for field in fields - shown}
        too_narrow |= {named(model) for fieldset in form for row in fieldset if len(row.fields) > 2}
    assert not_shown ^ set(NOT_SHOWN) == set()
    assert too_narrow == set()


@pytest.mark.slow
def test_a_list_of_many_rows_asks_no_more_queries_than_one_of_few(
    staff: Client, acme: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=3)
    staff.get("/admin/")  # the session is written now and then, and by the first request
    few = {model: queries_of(staff, list_of(model)) for model in MODELS}
    populate(acme, rows=5, journeys=5)
    for model in MODELS:
        with subtests.test(model=named(model)):
            assert len(queries_of(staff, list_of(model))) == len(few[model])


@pytest.mark.slow
def test_panels_ask_no_more_queries_where_more_hangs_on_the_record(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    trigger = Trigger.objects.get()
    segment = Segment.objects.get()
    pages = [acme, customer, trigger, trigger.journey, segment]
    for record in pages:
        staff.get(page_url(record))  # fills Django's cache of content types
    few = [len(queries_of(staff, page_url(record))) for record in pages]
    populate(acme, rows=4, journeys=4)
    app = App.objects.earliest("pk")
    for another in Customer.objects.exclude(pk=customer.pk):
        live_through(customer, journey=trigger.journey, app=app)
        queue_job(trigger, another)
        SegmentMembership.objects.create(workspace=acme, segment=segment, customer=another)
    assert [len(queries_of(staff, page_url(record))) for record in pages] == few


@pytest.mark.slow
def test_a_list_counts_nothing(staff: Client, acme: Workspace, subtests: pytest.Subtests) -> None:
    populate(acme, rows=2)
    for model in MODELS:
        with subtests.test(model=named(model)):
            queries = ("", "?q=nobody&_facets=True", "?p=2")
            asked = [sql for query in queries for sql in queries_of(staff, list_of(model) + query)]
            assert [sql for sql in asked if sql.endswith("LIMIT 50")]
            assert not [sql for sql in asked if re.search(r"COUNT\(|DISTINCT", sql)]


@pytest.mark.slow
def test_a_list_tells_how_many_there_are_where_that_is_cheap(staff: Client, acme: Workspace) -> None:
    queries = ("", "?p=2", f"?workspace__id__exact={acme.id}", "?q=user-0")
    for number, totals in ((1, ["1", "", "1", "1"]), (60, ["60", "", "", "1"]), (1_100, ["1,000+", "", "", "1"])):
        Customer.objects.all().delete()
        crowd(acme, number)
        answers = [staff.get(list_of(Customer) + query) for query in queries]
        assert [answer.context["cl"].total for answer in answers] == totals
    assert "1,000+ customers" in answers[0].content.decode()


@pytest.mark.slow
def test_no_page_counts_a_whole_table(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=2)
    pages = ["/admin/", *(page_url(record) for model in MODELS for record in model._default_manager.all())]
    counting = [sql for page in pages for sql in queries_of(staff, page) if "COUNT(" in sql.upper()]
    assert counting
    assert not [sql for sql in counting if "WHERE" not in sql and "LIMIT" not in sql]


@pytest.mark.slow
def test_a_form_opens_whatever_its_address_fills_in(staff: Client, acme: Workspace, subtests: pytest.Subtests) -> None:
    models: list[type[Model]] = [*MODELS, User, Group]
    for model in models:
        add = f"{list_of(model)}add/"
        if staff.get(add).status_code == 403:
            continue
        with subtests.test(model=named(model)):
            fields = staff.get(add).context["adminform"].form.fields
            assert staff.get(add, dict.fromkeys(fields, "x")).status_code == 200


def test_a_form_is_filled_in_by_its_address_where_that_fits(staff: Client, acme: Workspace) -> None:
    for fits, workspace in ((acme.pk, acme.pk), ("nothing", None)):
        answer = staff.get(f"{list_of(ApiKey)}add/", {"name": "shop", "workspace": fits})
        form = answer.context["adminform"].form
        assert (form["name"].value(), form["workspace"].value()) == ("shop", workspace)


def test_an_erased_customer_leaves_jobs_that_can_be_looked_at(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    erased = customer.pk
    customer.delete()
    job = EnrollmentJob.objects.get()
    for url in (
        list_of(EnrollmentJob),
        page_url(job),
        page_url(job.trigger),
        f"{list_of(EnrollmentJob)}?q={erased}",
        f"{list_of(EnrollmentJob)}?customer__id__exact={erased}",
    ):
        page = staff.get(url).content.decode()
        assert job.job_id in page or page_url(job) in page
        assert f'{erased} <span class="text-subtle">(gone)</span>' in page


def test_the_list_of_jobs_shows_a_short_id_and_early_what_came_of_it(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=1)
    job = EnrollmentJob.objects.get()
    page = staff.get(list_of(EnrollmentJob)).content.decode()
    assert f'<span title="{job.job_id}" class="engage-whole">…-{job.queued_ms}</span>' in page
    assert page.count(job.job_id) == 1
    columns = re.findall(r'class="[^"]*\bcolumn-(\w+)', page)
    assert columns[:5] == ["customer", "journey", "status", "result", "reason"]


def test_the_page_of_a_job_tells_when_it_was_queued(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=1)
    EnrollmentJob.objects.update(queued_ms=1_700_000_000_123)
    assert "2023-11-14 22:13:20 UTC" in staff.get(page_url(EnrollmentJob.objects.get())).content.decode()


def test_every_list_is_in_the_sidebar_of_who_may_see_it(staff: Client, onlooker: Client) -> None:
    for client in (staff, onlooker):
        page = client.get("/admin/").content.decode()
        assert [model for model in MODELS if f'href="{list_of(model)}"' not in page] == []


def test_a_list_is_in_the_sidebar_of_who_may_change_its_records(db: None) -> None:
    client = staff_with("change_app", "change_chunk")
    page = client.get("/admin/").content.decode()
    shown = [model for model in MODELS if f'href="{list_of(model)}"' in page]
    assert shown == [model for model in MODELS if client.get(list_of(model)).status_code == 200]
    assert set(shown) == {App, Chunk}


@pytest.mark.parametrize(
    "model", [Workspace, ApiKey, App, IdentityKey, Message, Segment, Journey, WebhookSecret], ids=named
)
def test_who_may_only_add_records_finds_the_page_for_it_in_the_sidebar(db: None, model: type[Model]) -> None:
    needed = needed_to_add(str(model._meta.model_name))
    client, add = staff_with(*needed), f"{list_of(model)}add/"
    page = client.get("/admin/").content.decode()
    assert [url for url in re.findall(r'href="(/admin/\w+/\w+/(?:add/)?)"', page) if url.endswith("/add/")] == [add]
    assert f'href="{list_of(model)}"' not in page
    assert f"<span>Add {model._meta.verbose_name}</span>" in page
    assert client.get(add).status_code == 200
    may_view_too = staff_with(*needed, f"view_{model._meta.model_name}")
    page = may_view_too.get("/admin/").content.decode()
    assert f"<span>Add {model._meta.verbose_name}</span>" not in page
    assert f'href="{list_of(model)}"' in page


@pytest.mark.slow
def test_a_kind_of_record_has_one_name_everywhere(staff: Client, subtests: pytest.Subtests) -> None:
    models: list[type[Model]] = [*MODELS, WebhookDelivery, User, Group]
    for model in models:
        with subtests.test(model=named(model)):
            page = staff.get(list_of(model)).content.decode()
            name = capfirst(model._meta.verbose_name_plural)
            in_sidebar, in_header = re.findall(rf'<a href="{list_of(model)}" .*?</a>', page, re.DOTALL)[:2]
            assert f"<span>{name}</span>" in in_sidebar
            assert strip_tags(in_header).strip() == name


def test_the_header_shows_the_name_of_a_record_as_it_is(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    for record in (customer, EnrollmentJob.objects.get()):
        page = staff.get(page_url(record)).content.decode()
        assert str(record) in page
        assert capfirst(str(record)) not in page
        assert re.search(rf">\s*{capfirst(record._meta.verbose_name_plural)}\s*</a>", page)


def test_the_sidebar_says_what_its_search_finds(staff: Client) -> None:
    page = staff.get("/admin/").content.decode()
    assert "Find any record" in page
    assert "Search apps" not in page


@pytest.mark.slow
def test_the_sidebar_is_empty_for_staff_without_permissions(db: None) -> None:
    client = staff_with()
    page = client.get("/admin/").content.decode()
    assert [model for model in MODELS if f'href="{list_of(model)}"' in page] == []
    for model in MODELS:
        assert client.get(list_of(model)).status_code == 403


def test_staff_and_their_groups_have_pages_too(staff: Client) -> None:
    group, user = Group.objects.create(name="Support"), User.objects.get()
    for record in (group, user):
        for url in (list_of(type(record)), f"{list_of(type(record))}add/", page_url(record)):
            assert staff.get(url).status_code == 200
