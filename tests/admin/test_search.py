"""Staff paste what they have, a job id, an external id, an e-mail address, and find the record."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from bridge.models import Interaction
from customers.models import Customer, Event, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import (
    Chunk,
    Enrollment,
    EnrollmentJob,
    InAppDelivery,
    Journey,
    JourneyRevision,
    Trigger,
    WebhookSecret,
)
from tests.admin.records import list_of, named
from tests.admin.staff import member, staff_with
from tests.support.cases import each
from tests.support.clock import later
from tests.support.factories import (
    ApiKeyFactory,
    AppFactory,
    CustomerFactory,
    JourneyFactory,
    SegmentFactory,
    WorkspaceFactory,
)
from tests.support.one_of_everything import populate, queue_job


@pytest.fixture
def ada(acme: Workspace, rival: Workspace) -> Customer:
    """One of three customers, each with one of everything; one of them is Rival's."""
    ada, other = populate(acme, rows=2, journeys=2)
    (foreign,) = populate(rival, rows=1)
    for customer, name in ((ada, "ada"), (other, "other"), (foreign, "foreign")):
        customer.external_id, customer.email = f"Shop-{name}", f"{name}@example.com"
        customer.phone, customer.user_id = f"+4930{len(name)}", f"user-{name}"
        customer.save()
    return ada


def shown(client: Client, model: type[Model], query: dict[str, str]) -> list[Any]:
    """The records that the model's list shows for this query."""
    page = client.get(list_of(model), query).content.decode()
    return [record for record in model._default_manager.all() if page_url(record) in page]


def found(client: Client, model: type[Model], text: str) -> list[Any]:
    """The records that the model's list shows for this search."""
    return shown(client, model, {"q": text})


@each("text", ["Rene\u0301", "R@M\u00dcNCHEN.example", "u-Rene\u0301", "desk Rene\u0301"])
def test_identifiers_are_searched_for_as_they_are_stored(staff: Client, acme: Workspace, text: str) -> None:
    known_by = {"external_id": "Ren\u00e9", "user_id": "u-Ren\u00e9", "phone": "desk Ren\u00e9"}
    rene = CustomerFactory.create(workspace=acme, email="r@xn--mnchen-3ya.example", **known_by)
    assert found(staff, Customer, text) == [rene]


@pytest.mark.slow
def test_what_is_a_customers_is_found_by_any_identifier(
    staff: Client, ada: Customer, subtests: pytest.Subtests
) -> None:
    kinds: list[type[Model]] = [Customer, Event, SegmentMembership, EnrollmentJob, Enrollment, Interaction]
    for model in kinds:
        field = "pk" if model is Customer else "customer"
        expected = list(model._default_manager.filter(**{field: ada.pk}))
        assert len(expected) == 1
        for text in (ada.pk, "Shop-ada", "Ada@Example.com", " ada@example.com ", "+49 30 3", "user-ada"):
            with subtests.test(model=named(model), text=text):
                assert found(staff, model, text) == expected


REFERENCES: list[tuple[type[Model], str]] = [
    (Event, "customer"),
    (EnrollmentJob, "customer"),
    (EnrollmentJob, "trigger"),
    (Enrollment, "customer"),
    (Enrollment, "journey"),
    (Trigger, "journey"),
    (Chunk, "trigger"),
    (JourneyRevision, "journey"),
]


@pytest.mark.slow
def test_a_list_is_narrowed_to_what_refers_to_one_record(
    staff: Client, ada: Customer, subtests: pytest.Subtests
) -> None:
    for model, field in REFERENCES:
        with subtests.test(model=named(model), field=field):
            every: list[Any] = list(model._default_manager.all())
            assert len(every) == 3
            for record in every:
                pk = getattr(record, f"{field}_id")
                assert shown(staff, model, {f"{field}__id__exact": pk}) == [record]
            answer = staff.get(list_of(model), {f"{field}__id__exact": f" {pk} "})
            if field != "journey":  # is chosen, not pasted
                assert f'<input type="text" name="{field}__id__exact" value="{pk}"' in answer.content.decode()
                assert list(answer.context["cl"].result_list) == [record]
            narrowed = staff.get(list_of(model), {f"{field}__id__exact": pk}).context["cl"].queryset
            assert '"workspace_id" = ' in str(narrowed.query)  # leads some of the indexes


def test_jobs_run_newest_first_and_those_of_one_trigger_in_its_order(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    trigger = Trigger.objects.get()
    for _ in range(2):
        queue_job(trigger, customer)
    in_order = list(EnrollmentJob.objects.order_by("ordinal"))
    for query, expected in (
        ({}, in_order[::-1]),
        ({"trigger__id__exact": "", "status__exact": "queued"}, in_order[::-1]),
        ({"trigger__id__exact": trigger.pk}, in_order),
    ):
        assert list(staff.get(list_of(EnrollmentJob), query).context["cl"].result_list) == expected


def test_events_are_narrowed_to_a_name(staff: Client, ada: Customer) -> None:
    Event.objects.filter(customer=ada).update(name="refunded")
    assert shown(staff, Event, {"name": " refunded "}) == list(Event.objects.filter(customer=ada))


def test_a_job_and_its_enrollment_are_found_by_the_job_id(staff: Client, ada: Customer) -> None:
    job = EnrollmentJob.objects.get(customer=ada)
    assert found(staff, EnrollmentJob, job.job_id) == [job]
    assert found(staff, Enrollment, job.job_id) == [job.enrollment]


def test_every_trigger_that_named_a_customer_is_found(staff: Client, ada: Customer) -> None:
    first = Trigger.objects.get(jobs__customer=ada)
    second = Trigger.objects.create(
        workspace=first.workspace, journey=first.journey, form="single", customers=1, queued_at=timezone.now()
    )
    queue_job(second, ada)
    assert set(found(staff, Trigger, "Shop-ada")) == {first, second}


@pytest.mark.parametrize("text", ["Shop-ada", "ada@example.com", "user-ada"])
def test_a_trigger_is_found_by_whom_it_named(staff: Client, ada: Customer, text: str) -> None:
    job = EnrollmentJob.objects.get(customer=ada)
    for named_by in (text, ada.pk, job.job_id):
        assert found(staff, Trigger, named_by) == [job.trigger]
    ada.delete()
    assert found(staff, Trigger, job.customer_id) == [job.trigger]


def test_an_event_is_found_by_its_name(staff: Client, ada: Customer, rival: Workspace) -> None:
    own = Event.objects.get(customer=ada)
    Event.objects.filter(pk=own.pk).update(name="Order paid")
    assert found(staff, Event, " Order paid ") == [own]
    assert found(staff, Event, "Order") == []
    for workspace, shown in ((own.workspace_id, True), (rival.id, False)):
        page = staff.get(list_of(Event), {"q": "Order paid", "workspace__id__exact": workspace}).content.decode()
        assert (page_url(own) in page) is shown


def test_a_search_by_name_looks_through_the_latest_events_only(
    staff: Client, ada: Customer, rival: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("customers.admin.events.SEARCHED_BY_NAME", 100)
    old, now = Event.objects.filter(workspace=rival).get(), timezone.now()
    Event.objects.filter(pk=old.pk).update(name="rare")
    whose = {"workspace": ada.workspace, "customer": ada, "source": "api", "occurred_at": now}
    with later():
        Event.objects.bulk_create(Event(name="often", **whose) for _ in range(100))
    assert page_url(old) not in staff.get(list_of(Event), {"q": "rare"}).content.decode()
    first = Event.objects.filter(name="often").earliest("pk")
    Event.objects.filter(pk=first.pk).update(name="first")
    assert page_url(first) in staff.get(list_of(Event), {"q": "first"}).content.decode()
    own = {"q": "rare", "workspace__id__exact": rival.id}
    assert page_url(old) in staff.get(list_of(Event), own).content.decode()


def test_an_empty_list_says_why_it_is_empty(staff: Client, onlooker: Client, db: None) -> None:
    by_others, by_oneself = "made by the service itself", f'href="{list_of(Journey)}add/">Add the first one</a>'
    for client, model, why in (
        (staff, Event, by_others),
        (staff, EnrollmentJob, by_others),
        (onlooker, Journey, by_others),
        (staff, Journey, by_oneself),
    ):
        page = client.get(list_of(model)).content.decode()
        assert "Nothing here" in page
        assert why in page
        assert "Show everything" not in page


def test_a_list_that_is_searched_for_nothing_it_has_says_so(staff: Client, onlooker: Client) -> None:
    kinds: list[type[Model]] = [Event, EnrollmentJob, Journey, User]
    for model in kinds:
        for client in (staff, onlooker):
            page = client.get(list_of(model), {"q": "nobody"}).content.decode()
            assert "Nothing is found by this." in page
            assert "Create a new item" not in page


def test_a_page_beyond_the_last_leads_to_the_first(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=1)
    for model in (Event, Journey):
        assert "has no page" not in staff.get(list_of(model)).content.decode()
        page = staff.get(list_of(model), {"workspace__id__exact": acme.id, "p": "99"}).content.decode()
        assert "The list has no page 99." in page
        assert f'<a class="text-link" href="?workspace__id__exact={acme.id}">Show the first one</a>' in page
        assert "made by the service itself" not in page
        assert "Create a new item" not in page


def test_a_record_is_found_by_its_own_id(staff: Client, ada: Customer, subtests: pytest.Subtests) -> None:
    kinds: list[type[Model]] = [Workspace, Event, Interaction, Journey, Trigger, Enrollment]
    for model in kinds:
        with subtests.test(model=named(model)):
            record = model._default_manager.earliest("pk")
            assert found(staff, model, record.pk) == [record]


def test_waiting_work_is_found_by_its_trigger_and_a_revision_by_its_journey(staff: Client, ada: Customer) -> None:
    job = EnrollmentJob.objects.get(customer=ada)
    assert found(staff, Chunk, job.trigger_id) == [Chunk.objects.get(trigger=job.trigger_id)]
    assert found(staff, JourneyRevision, job.journey_id) == [JourneyRevision.objects.get(journey=job.journey_id)]


def test_an_external_id_finds_who_has_it_in_any_workspace(staff: Client, ada: Customer, rival: Workspace) -> None:
    Customer.objects.filter(workspace=rival).update(external_id="Shop-ada")
    for model in (Customer, Event):
        assert {record.workspace_id for record in found(staff, model, "Shop-ada")} == {ada.workspace_id, rival.pk}


def test_a_member_finds_their_own_however_many_others_have_the_external_id(
    ada: Customer, rival: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("customers.admin.search.MOST_FOUND", 1)
    Customer.objects.filter(workspace=rival).update(external_id="Shop-ada")
    for number, customer in enumerate(Customer.objects.filter(external_id="Shop-ada")):
        browser = member(f"m{number}", **{customer.workspace.key: "support"})
        for model in (Customer, Event):
            assert {record.workspace_id for record in found(browser, model, "Shop-ada")} == {customer.workspace_id}


def test_a_search_is_for_the_whole_value(staff: Client, ada: Customer) -> None:
    assert found(staff, Customer, "Shop-ad") == []
    assert found(staff, Customer, "+4930") == []


def test_a_search_stays_in_the_workspace_of_the_list(staff: Client, ada: Customer, rival: Workspace) -> None:
    answer = staff.get(list_of(Customer), {"q": "Shop-ada", "workspace__id__exact": rival.id})
    assert page_url(ada) not in answer.content.decode()


def test_one_box_finds_every_kind_of_record(staff: Client, ada: Customer) -> None:
    page = staff.get("/admin/search/", {"extended": "1", "s": "Shop-ada"}).content.decode()
    kinds: list[type[Model]] = [Event, SegmentMembership, EnrollmentJob, Enrollment, InAppDelivery, Interaction]
    assert page_url(Trigger.objects.get(jobs__customer=ada)) in page
    for record in [ada, *(kind._default_manager.get(customer=ada) for kind in kinds)]:
        assert page_url(record) in page
    assert "Found 8 results" in page
    assert "customer of Acme" in page


def found_anywhere(client: Client, text: str) -> list[tuple[str, str]]:
    """The address and the description of each record that the one box finds; it knows the lists by name, too."""
    results = client.get("/admin/search/", {"extended": "1", "s": text}).context["results"]
    return [(result.link, result.description) for result in results if "/change/" in result.link]


def test_what_staff_made_is_found_by_its_name_its_key_and_its_id(staff: Client, acme: Workspace) -> None:
    key, app = ApiKeyFactory.create(workspace=acme, name="Spring"), AppFactory.create(workspace=acme, name="Spring")
    segment = SegmentFactory.create(workspace=acme, name="Spring", key="melt")
    journey = JourneyFactory.create(workspace=acme, name="Spring", key="melt")
    season = WorkspaceFactory.create(name="Spring", key="season")
    _other, secret = (WebhookSecret.objects.create(workspace=own, secret="whsec_") for own in (acme, season))
    searches: list[tuple[str, list[Any]]] = [
        (" spring ", [season, key, app, segment, journey]),
        ("melt", [segment, journey]),
        ("season", [season, secret]),
        (key.prefix, [key]),
        *((record.pk, [record]) for record in (season, key, app, segment, journey)),
    ]
    for text, expected in searches:
        assert {link for link, _ in found_anywhere(staff, text)} >= {page_url(record) for record in expected}
    assert found_anywhere(staff, "season") == [
        (page_url(season), "workspace"),
        (page_url(secret), "webhook secret of Spring"),
    ]


def test_the_one_box_finds_the_latest_few_of_a_kind_with_few_queries(
    staff: Client, acme: Workspace, rival: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    AppFactory.create(workspace=acme, name="Spring")
    with later():
        apps = {AppFactory.create(workspace=rival, name="Spring")}
    with CaptureQueriesContext(connection) as few:
        found_anywhere(staff, "spring")
    with later():
        apps |= {AppFactory.create(workspace=WorkspaceFactory.create(), name="Spring") for _ in range(4)}
    with django_assert_num_queries(len(few)):
        found = found_anywhere(staff, "spring")
    assert [link for link, _ in found] == [page_url(app) for app in sorted(apps, key=lambda app: app.pk, reverse=True)]


def test_the_one_box_finds_nothing_by_what_is_no_text(staff: Client, ada: Customer) -> None:
    for text in (" ", "\x00"):
        assert found_anywhere(staff, text) == []


def test_the_one_box_says_that_it_finds_nothing(staff: Client, ada: Customer) -> None:
    (selector,) = re.findall(r'hx-select="#([^"]+)"', staff.get("/admin/").content.decode())
    for text, says in (("nobody-at-all", "Nothing is found by this."), (ada.pk, page_url(ada))):
        answer = staff.get("/admin/search/", {"extended": "1", "s": text}).content.decode()
        selected = answer.partition(f'id="{selector}"')[2]
        assert says in selected


@pytest.mark.slow
def test_who_may_not_view_customers_finds_their_records_by_id_only(ada: Customer, subtests: pytest.Subtests) -> None:
    kinds: list[type[Model]] = [Event, SegmentMembership, EnrollmentJob, Enrollment, Interaction, Trigger]
    for model in kinds:
        with subtests.test(model=named(model)):
            client = staff_with(f"view_{model._meta.model_name}")
            theirs = {"jobs__customer" if model is Trigger else "customer": ada}
            assert found(client, model, ada.pk) == [model._default_manager.get(**theirs)]
            for text in ("Shop-ada", "ada@example.com", "+49303", "user-ada"):
                assert found(client, model, text) == [], text


def test_the_one_box_finds_only_what_its_user_may_see(ada: Customer) -> None:
    client = staff_with("view_enrollmentjob")
    page = client.get("/admin/search/", {"extended": "1", "s": ada.pk}).content.decode()
    assert page_url(EnrollmentJob.objects.get(customer=ada)) in page
    assert page_url(ada) not in page
    assert found_anywhere(client, "ada@example.com") == []


def test_the_one_box_is_closed_to_strangers(ada: Customer) -> None:
    assert Client().get("/admin/search/", {"extended": "1", "s": "Shop-ada"}).status_code == 302


@pytest.mark.parametrize(
    "model", [Event, SegmentMembership, EnrollmentJob, Enrollment, Trigger, Interaction], ids=named
)
def test_the_box_says_what_it_searches_for(staff: Client, acme: Workspace, model: type[Model]) -> None:
    populate(acme, rows=1)
    (hint,) = re.findall(r'id="searchbar"\s+placeholder="([^"]*)"', staff.get(list_of(model)).content.decode())
    assert "ustomer&#x27;s name, e-mail, external id" in hint
