"""Permissions give what they say: not more, by way of a key, a journey or what stands in one."""

from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client

from customers.models import Customer
from engage.admin.parts.columns import page_url
from engage.admin.parts.definitions import DefinitionAdmin
from engage.admin.rights.key_rights import KEY_RIGHTS, rights_of
from engage.models import ApiKey, IdentityKey, Workspace
from engage.scopes import Scope
from journeys.engine.operations.redaction import steps_without_credentials
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.models import Enrollment, Journey, JourneyRevision, WebhookDelivery, WebhookSecret
from tests.admin.journey_form import ADD, CONDITION, EXITS, PRICEY, STEPS, said
from tests.admin.keys import KEYS, make_key, secret_on, works
from tests.admin.records import MODELS, READ_ONLY, list_of
from tests.admin.staff import READS_PEOPLE, codenames, member, needed_to_add, staff_with
from tests.interface.tenants import CALLS, OF_WHATEVER_IS_THERE, body_of, path_of, tenant
from tests.support.audit import told, written
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import ApiKeyFactory, AppFactory, JourneyFactory
from tests.support.tables import taken_back

NOT_THEIRS = "needs the permission to view customers, too"
CALL: dict[str, Any] = {
    "id": "call",
    "type": "webhook",
    "url": "https://a.example/in?api_key=hush-query&for=ada",
    "headers": {"Authorization": "Bearer hush-1", "X-Plain": "hush-2"},
}


@pytest.fixture
def calling(acme: Workspace) -> Journey:
    """Its current revision and an earlier one send a webhook with credentials."""
    journey = JourneyFactory.create(workspace=acme, revision=2, steps=[CALL])
    JourneyRevision.objects.create(workspace=acme, journey=journey, number=1, steps=[{**CALL, "id": "former"}])
    return journey


def page_of(client: Client, record: Any) -> str:
    return unescape(client.get(page_url(record)).content.decode())


def content() -> list[Any]:
    return [*Journey.objects.order_by("pk").values(), *JourneyRevision.objects.order_by("pk").values()]


@pytest.mark.django_db
def test_the_rights_that_a_key_gives_are_permissions_that_can_be_granted() -> None:
    there = {".".join(names) for names in Permission.objects.values_list("content_type__app_label", "codename")}
    assert set(KEY_RIGHTS) <= there


@pytest.mark.slow
def test_a_scope_is_given_only_by_those_who_may_do_what_it_gives(acme: Workspace, subtests: pytest.Subtests) -> None:
    for missing in KEY_RIGHTS:
        with subtests.test(missing=missing):
            client = staff_with("add_apikey", "view_apikey", "view_workspace", *codenames({*KEY_RIGHTS} - {missing}))
            name = Permission.objects.get(codename=missing.partition(".")[2]).name.removeprefix("Can ")
            given = [scope for scope in Scope if missing in rights_of([scope])]
            for scopes in (["all"], *([scope.value] for scope in given)):
                page = unescape(make_key(client, acme, scopes=scopes))
                assert f"your account also needs: {name}." in page
            assert not ApiKey.objects.exists()
            others = [scope.value for scope in Scope if scope not in given]
            assert works(secret_on(make_key(client, acme, scopes=others)), acme)
            assert ApiKey.objects.get().scopes == others
            ApiKey.objects.all().delete()
    maker = staff_with("view_apikey", *needed_to_add("apikey"))
    assert works(secret_on(make_key(maker, acme)), acme)


# Whether a key with the scope alone learns what is known of people: by an answer, or by what it can make.
LEARNS = {
    Scope.TRIGGER: True,  # a send to a segment has a job of each member, with their external id
    Scope.EVENTS: False,
    Scope.CUSTOMERS_READ: True,
    Scope.CUSTOMERS_WRITE: True,
    Scope.CUSTOMERS_MERGE: False,  # a call takes customers:write as well
    Scope.CUSTOMERS_ERASE: False,
    Scope.CUSTOMERS_EXPORT: True,
    Scope.SEGMENTS: False,
    Scope.ENROLLMENTS: True,
    Scope.STATS: False,
    Scope.FEED: True,
    Scope.MESSAGES: True,  # an image's address may have what is known of who sees it
    Scope.AUDIT: False,
    Scope.DEFINITIONS: True,  # journeys send what they read, subscriptions have the feed
    Scope.CONNECTIONS: True,  # what journeys send goes where a connection says
    Scope.CONTACT: True,  # of whom an address is, nobody writes to, its name is masked and its domain is not
}


def test_a_scope_by_which_people_are_known_is_given_by_those_alone_who_may_view_them(
    acme: Workspace, server: ServerClient, subtests: pytest.Subtests
) -> None:
    assert set(LEARNS) == set(Scope)
    sees_nobody = staff_with("add_apikey", "view_workspace", *codenames({*KEY_RIGHTS} - {"customers.view_customer"}))
    us, known = tenant(acme, server), {"email": "hush@example.com", "user_id": "hush", "attributes": {"plan": "hush"}}
    Customer.objects.update(**known)
    for scope, learns in LEARNS.items():
        with subtests.test(scope=scope):
            assert ("customers.view_customer" in rights_of([scope])) == learns
            assert ("your account also needs: view customer." in make_key(sees_nobody, acme, scopes=[scope])) == learns
            caller = ServerClient(ApiKeyFactory.create(workspace=acme, scopes=[scope]))
            caller.headers.update(OF_WHATEVER_IS_THERE)
            for call in [call for call in CALLS if call.scope is scope and not learns]:
                assert call.method != "PUT", "what defines anything may define what reads people"
                with taken_back():
                    answer = caller.call(call.method, path_of(call, us.ids()), body_of(call))
                    assert [one for one in ("hush", "'ada'") if one in str(answer.json())] == []


# Of these a record reads nobody, or has fields that do, of which others know (journeys, segments). Definitions say so
# at their pages.
READS_NOBODY = {
    "workspace",
    "membership",
    "apikey",
    "app",
    "segment",
    "journey",
    "steeredhost",
    "webhooksecret",
}


def test_what_reads_people_is_written_by_those_alone_who_may_view_them(acme: Workspace, server: ServerClient) -> None:
    writable = {str(model._meta.model_name): model for model in MODELS if model not in READ_ONLY}
    pages = {name: admin.site.get_model_admin(model) for name, model in writable.items()}
    says_so = {
        name
        for name, page in pages.items()
        if isinstance(page, DefinitionAdmin) and vars(type(page)).get("reads_people") is False
    }
    assert set(writable) == READS_PEOPLE | READS_NOBODY | says_so
    tenant(acme, server)
    IdentityKey.objects.create(workspace=acme, app=AppFactory.create(workspace=acme), kid="a", alg="HS256", secret="x")
    for name in READS_PEOPLE:
        record: Model = writable[name]._default_manager.get()
        needed = {*needed_to_add(name), f"view_{name}", f"change_{name}"}
        add, sees_nobody = f"{list_of(writable[name])}add/", staff_with(*(needed - {"view_customer"}))
        for answer in (sees_nobody.get(add), sees_nobody.post(add), sees_nobody.post(page_url(record))):
            assert answer.status_code == 403
        assert "needs the permission to view customers" in sees_nobody.get(add).content.decode()
        assert sees_nobody.get(page_url(record)).status_code == 200
        assert 'type="submit"' not in sees_nobody.get(page_url(record)).content.decode().partition("<main")[2]
        sees_people = staff_with(*needed)
        assert 403 not in [sees_people.post(url).status_code for url in (add, page_url(record))]


def test_who_may_give_no_scope_makes_no_key(acme: Workspace) -> None:
    client = staff_with("add_apikey", "view_apikey", "view_workspace")
    for answer in (client.get(f"{KEYS}add/"), client.post(f"{KEYS}add/", {"workspace": acme.id, "name": "shop"})):
        assert answer.status_code == 403
        assert "your account also needs: view customer, " in answer.content.decode()
    assert f"{KEYS}add/" not in client.get(KEYS).content.decode()


@each(
    "wider, saved",
    [
        ({"scopes": ["trigger", "customers:erase"]}, False),
        ({"scopes": ["all"]}, False),
        ({"scopes": ["customers:erase"], "journeys": ""}, False),
        ({"scopes": ["customers:erase"], "networks": "", "journeys": "welcome"}, False),
        ({"scopes": ["trigger"], "networks": ""}, True),
        ({"scopes": ["customers:erase"], "journeys": "welcome", "name": "renamed"}, True),
    ],
)
def test_a_key_is_widened_only_by_those_who_may_do_what_it_gives(
    acme: Workspace, wider: dict[str, Any], saved: bool
) -> None:
    journey = JourneyFactory.create(workspace=acme, key="welcome")
    limits = {"scopes": ["customers:erase"], "journeys": [journey.id], "networks": ["203.0.113.0/24"]}
    key = ApiKeyFactory.create(workspace=acme, **limits)
    client = staff_with("change_apikey", *codenames(rights_of(["trigger"])))
    fields = {"name": key.name, "rate_limit": key.rate_limit, "networks": "203.0.113.0/24", **wider}
    assert client.post(page_url(key), fields).status_code == (302 if saved else 200)
    key.refresh_from_db()
    if not saved:
        assert {name: getattr(key, name) for name in limits} == limits


def test_who_has_all_rights_of_a_key_but_may_not_add_one_is_refused(acme: Workspace) -> None:
    client = staff_with("view_apikey", *codenames(KEY_RIGHTS))
    assert client.post(f"{KEYS}add/", {"workspace": acme.id, "name": "shop"}).status_code == 403
    assert not ApiKey.objects.exists()


@each(
    "content_field", [{"steps": [CALL]}, {"exit_on": EXITS}, {"entry_conditions": CONDITION}, {"event_where": PRICEY}]
)
def test_what_reads_customers_is_written_by_those_alone_who_may_view_customers(
    acme: Workspace, calling: Journey, content_field: dict[str, Any]
) -> None:
    before = content()
    client = staff_with("add_journey", "change_journey", "view_workspace")
    fields = said(trigger_type="event", event_name="paid", **content_field)
    for url, body in ((page_url(calling), fields), (ADD, {**fields, "workspace": acme.id, "key": "other"})):
        refused = client.post(url, body)
        assert refused.status_code == 403
        assert NOT_THEIRS in refused.content.decode()
    assert content() == before
    trusted = staff_with("change_journey", "view_customer")
    assert trusted.post(page_url(calling), fields).status_code == 302
    assert content() != before


def test_who_may_not_view_customers_still_renames_a_journey_and_switches_it(acme: Workspace) -> None:
    journey = JourneyFactory.create(
        workspace=acme,
        steps=[CALL],
        trigger_type="event",
        event_name="paid",
        event_where=PRICEY,
        entry_conditions=CONDITION,
    )
    journey.revisions.update(exit_on=EXITS)
    client = staff_with("change_journey")
    page = page_of(client, journey)
    assert NOT_THEIRS in page
    assert 'name="name"' in page
    for name in ("steps", "exit_on", "entry_conditions", "event_where"):
        assert f'name="{name}"' not in page
    assert "hush" not in page
    before = list(JourneyRevision.objects.values())
    said = {"name": "Renamed", "trigger_type": "event", "event_name": "paid", "active": ""}
    assert client.post(page_url(journey), said).status_code == 302
    journey.refresh_from_db()
    assert (journey.name, journey.active, journey.revision) == ("Renamed", False, 1)
    assert (journey.event_where, journey.entry_conditions) == (PRICEY, CONDITION)
    assert list(JourneyRevision.objects.values()) == before


def test_who_may_not_view_customers_makes_a_journey_without_steps(acme: Workspace) -> None:
    client = staff_with(*needed_to_add("journey"))
    fields = {"workspace": acme.id, "key": "welcome", "name": "Welcome", "trigger_type": "api", "active": "on"}
    assert client.post(ADD, fields).status_code == 302
    journey, revision = Journey.objects.get(), JourneyRevision.objects.get()
    assert (journey.name, journey.entry_conditions, journey.event_where) == ("Welcome", None, None)
    assert (revision.number, revision.steps, revision.exit_on) == (1, [], [])


def test_who_may_only_look_at_journeys_sees_no_credentials_of_receivers(calling: Journey, onlooker: Client) -> None:
    former = calling.revisions.get(number=1)
    for client in (staff_with("view_journey", "view_journeyrevision"), onlooker):
        for record, step in ((calling, "call"), (former, "former")):
            page = page_of(client, record)
            assert f'"id": "{step}"' in page
            assert '"Authorization": "***"' in page
            assert '"X-Plain": "***"' in page
            assert "https://a.example/in?api_key=***&for=ada" in page
            assert "hush" not in page


def test_who_may_write_steps_and_superusers_see_queries_whole_and_no_secret(calling: Journey, staff: Client) -> None:
    former = calling.revisions.get(number=1)
    for client in (staff, staff_with("change_journey", "view_customer", "view_journeyrevision")):
        for record in (calling, former):
            page = page_of(client, record)
            assert "api_key=hush-query" in page
            assert '"X-Plain": "***"' in page
            assert not any(value in page for value in ("hush-1", "hush-2"))


@each(
    "narrowed",
    [
        "trigger/?payload__coupon__startswith=W",
        "enrollment/?exit_reason__startswith=Ada",
        "enrollmentjob/?details__icontains=Ada",
        "journeyrevision/?steps__icontains=token",
        "connection/?definition__icontains=token",
    ],
)
def test_no_list_is_narrowed_by_what_it_hides(acme: Workspace, staff: Client, narrowed: str) -> None:
    """Letter by letter, it would tell the value. Nobody needs it: filters and links ask for nothing else."""
    for browser in (member("eve", acme="viewer"), staff):
        assert browser.get(f"/admin/journeys/{narrowed}").status_code == 400


def test_a_history_tells_no_credentials(calling: Journey, staff: Client) -> None:
    other = {**CALL, "headers": {"X-Plain": "hush-3"}}
    assert staff.post(page_url(calling), said(name=calling.name, steps=[other])).status_code == 302
    assert len(told()) == 1
    assert "hush" not in written()
    history = page_url(calling).replace("/change/", "/history/")
    assert "hush" not in staff_with("view_journey").get(history).content.decode()


def test_a_timeline_shows_no_values_of_headers(failed: Enrollment, staff: Client, onlooker: Client) -> None:
    WebhookDelivery.objects.update(headers={"X-Plain": "hush-2", "Authorization": "Bearer hush"})
    for client in (onlooker, staff):
        page = page_of(client, failed)
        assert "X-Plain: ***" in page
        assert "hush" not in page


@each("steps", [None, {}, [1], [{"headers": "hush"}], [{"headers": ["hush"], "url": 1}]])
def test_steps_of_any_form_are_shown_without_credentials(steps: Any) -> None:
    assert "hush" not in repr(steps_without_credentials(steps))


def test_steps_without_credentials_are_otherwise_shown_as_they_are() -> None:
    assert steps_without_credentials(STEPS) == STEPS
    assert CALL["headers"]["X-Plain"] == "hush-2"


def test_who_looks_at_a_webhook_secret_is_noted(staff: Client, acme: Workspace, rival: Workspace) -> None:
    current_secrets([acme.id, rival.id])
    secret = WebhookSecret.objects.get(workspace=acme)
    looker = staff_with("view_webhooksecret")
    looker.get("/admin/journeys/webhooksecret/")
    assert told() == []
    for _ in range(2):
        assert secret.secret in page_of(looker, secret)
    assert told() == [("support view_webhooksecret", str(secret.pk), "Looked at.")] * 2
    assert secret.secret not in written()
    assert staff_with("view_workspace").get(page_url(secret)).status_code == 403
    assert len(told("webhooksecret")) == 2
