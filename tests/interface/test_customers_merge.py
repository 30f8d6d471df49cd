"""`POST /api/v1/customers/{workspaceId}/merge`: who becomes whom."""

from typing import Any

import pytest

from customers.identity.upsert import locked_customers
from customers.models import Alias, Customer, Event, Tombstone
from engage.models import AuditEntry, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey
from tests.interface.merges import NOTHING, entered, merge, merged
from tests.interface.tenants import everything_of
from tests.support.bridge_calls import click, identify, submit
from tests.support.calls import customers_path, data, job_of, let_workers_decide, refused, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import (
    ApiKeyFactory,
    CustomerFactory,
    JourneyFactory,
    SegmentFactory,
)
from tests.support.tables import taken_back

WAIT: list[dict[str, Any]] = [{"id": "wait", "type": "delay", "for": "P1D"}]


@pytest.fixture
def waiting(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, key="waiting", steps=WAIT)


def test_it_says_in_numbers_what_was_moved(
    acme: Workspace, server: ServerClient, sdk: SdkClient, anonymous: Customer, ada: Customer, waiting: Journey
) -> None:
    SegmentFactory.create(workspace=acme, members=[anonymous])
    both = SegmentFactory.create(workspace=acme, members=[anonymous, ada])
    submit(sdk, userId="anon-1", formData={"plan": "free"})
    click(sdk, userId="anon-1", actionType="track_event", actionData={"eventName": "seen"})
    entered(server, waiting, anonymous)
    let_workers_decide()
    assert merged(server, acme) == {
        "events": 1, "interactions": 2, "attributes": 1, "segments": 1, "jobs": 1, "enrollments": 1
    }  # fmt: skip
    assert both.segmentmembership_set.get().customer == ada
    for model in (Event, Enrollment, EnrollmentJob):
        assert model._default_manager.get().customer_id == ada.id
    again = data(merge(server, acme), status=200)
    lost: dict[str, list[str]] = {"attributes": [], "identifiers": []}
    assert again == {
        "customerId": ada.id, "merged": False, "moved": NOTHING, "identifiers": [], "aliases": [], "lost": lost
    }  # fmt: skip


def test_it_confirms_what_only_a_page_had_said(acme: Workspace, server: ServerClient, sdk: SdkClient) -> None:
    """So the server's next PUT of the user id finds the person, as if no page had said anything."""
    ada = data(server.put(customers_path(acme), {"external_id": "ada"}), status=201)["customerId"]
    said = {"userId": "anon-1", "external_id": "ada"}
    assert sdk.post("/api/v1/sdk/identify", said).status_code == 200
    named = {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "ada"}}
    answer = data(merge(server, acme, **named), status=200)
    assert (answer["customerId"], answer["merged"]) == (ada, False)
    assert data(server.put(customers_path(acme), {"userId": "anon-1"}), status=200)["customerId"] == ada


@each("named", ["customerId", "userId"])
def test_either_may_be_named_by_any_identifier(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, named: str
) -> None:
    who = {"customerId": anonymous.id} if named == "customerId" else {"userId": "anon-1"}
    for into, is_merged in (({"customerId": ada.id}, True), ({"external_id": "ada"}, False)):
        answer = data(merge(server, acme, anonymous=who, into=into), status=200)
        assert (answer["customerId"], answer["merged"]) == (ada.id, is_merged)
    assert Customer.objects.get() == ada


def test_the_merged_customers_id_leads_on_but_erases_nobody(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    merged(server, acme)
    there = customers_path(acme, anonymous.id)
    assert data(server.get(there), status=200)["customerId"] == ada.id
    for told in ("journeys", "export"):
        assert data(server.get(f"{there}/{told}"), status=200)["customerId"] == ada.id
    put = {"customerId": anonymous.id, "attributes": {"plan": "pro"}}
    assert data(server.put(customers_path(acme), put), status=200)["customerId"] == ada.id
    event = {"customerId": anonymous.id, "eventName": "seen"}
    assert data(server.post(customers_path(acme, "events"), event))["customerId"] == ada.id
    for dry_run in ("", "?dryRun=true"):
        path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger{dry_run}"
        answer = server.post(path, {"customerId": anonymous.id, "exclude_external_ids": ["ada"]})
        assert ada.id in str(data(answer, status=200))
    refused(server.delete(there), status=404, error="Customer not found")
    assert Customer.objects.get() == ada


def test_the_id_of_whoever_was_merged_last_leads_on(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer
) -> None:
    """Their user id was an alias before it was theirs."""
    merged(server, acme)
    again = CustomerFactory.create(workspace=acme, external_id=None, user_id="anon-1")
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    merged(server, acme, into={"external_id": "bob"})
    for named in (customers_path(acme, again.id), f"{customers_path(acme)}?userId=anon-1"):
        assert data(server.get(named), status=200)["customerId"] == bob.id


@each("into", ["ada", "bob"])
def test_the_id_of_whom_a_page_has_merged_leads_on_whatever_a_server_says_of_their_user_id(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer, journey: Journey, into: str
) -> None:
    """The user id is whose a server says; what was done before stays with whom the page has named."""
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    assert click(sdk, userId="anon-1").succeeded
    anonymous = Customer.objects.get(user_id="anon-1")
    queued = entered(server, journey, anonymous)
    assert identify(sdk, user_id="anon-1", external_id="ada").succeeded
    for _ in range(2):
        data(merge(server, acme, into={"external_id": into}), status=200)
        assert identify(sdk, user_id="anon-1", external_id=into).succeeded
    assert data(server.get(customers_path(acme, anonymous.id)), status=200)["customerId"] == ada.id
    assert put(server, acme, userId="anon-1") == {"ada": ada.id, "bob": bob.id}[into]
    # The feed, an erasure and whoever decides what is queued go by the row of the id.
    assert Alias.objects.get(id=anonymous.id).customer == ada
    let_workers_decide()
    assert job_of(server, acme.id, queued)["customerId"] == ada.id


def test_two_with_other_identifiers_are_never_merged(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    CustomerFactory.create(workspace=acme, user_id="anon-1", external_id="bob")
    refused(merge(server, acme), status=409, error="Identifier conflict")
    refused(merge(server, acme, anonymous={"customerId": ada.id}, into={"external_id": "bob"}), status=409,
            error="Identifier conflict")  # fmt: skip
    assert Customer.objects.count() == 2


@each(
    "body, message",
    [
        ({"anonymous": None}, "Send anonymous or customer: who is merged."),
        ({"anonymous": None, "customer": {}}, "customer: Send at least one of customerId, external_id, email"),
        ({"anonymous": {"external_id": "bob"}}, "anonymous needs a customerId or a userId."),
        ({"into": {}}, "into: Send at least one of customerId, external_id, email, phone, userId."),
    ],
)
def test_both_must_be_named(acme: Workspace, server: ServerClient, body: dict[str, Any], message: str) -> None:
    answer = merge(server, acme, **body)
    assert refused(answer, status=400, error="Missing required parameter").startswith(message)


# Two known people ---------------------------------------------------------------------------------------------------


BOTH: dict[str, Any] = {"anonymous": None, "customer": {"external_id": "ada-2"}}


def put(server: ServerClient, workspace: Workspace, status: int = 200, /, **body: Any) -> str:
    """Who is meant by a PUT."""
    return str(data(server.put(customers_path(workspace), body), status=status)["customerId"])


@pytest.fixture
def former(acme: Workspace, ada: Customer) -> Customer:
    """Ada has an e-mail address; her other self has all identifiers."""
    Customer.objects.filter(id=ada.id).update(email="ada@example.com", attributes={"plan": "pro", "seats": 1})
    return CustomerFactory.create(
        workspace=acme, external_id="ada-2", email="a@example.com", phone="+491701234567", user_id="u-2",
        attributes={"plan": "free", "seats": 1, "city": "Ulm"},
    )  # fmt: skip


def test_two_known_people_become_one_who_has_all_identifiers_or_is_led_to_by_them(
    acme: Workspace, server: ServerClient, sdk: SdkClient, former: Customer, ada: Customer, waiting: Journey
) -> None:
    SegmentFactory.create(workspace=acme, members=[former])
    click(sdk, external_id="ada-2", actionType="track_event", actionData={"eventName": "seen"})
    entered(server, waiting, former)
    let_workers_decide()
    entered(server, waiting, former)
    path, body = customers_path(acme, "merge"), {"customer": {"external_id": "ada-2"}, "into": {"external_id": "ada"}}
    before = everything_of(acme)
    rehearsed = data(server.post(f"{path}?dryRun=true", body), status=200)
    assert everything_of(acme) == before
    answer = data(server.post(path, body), status=200)
    assert answer == rehearsed == {
        "customerId": ada.id, "merged": True, "identifiers": ["phone", "userId"], "aliases": ["external_id", "email"],
        "lost": {"attributes": ["plan"], "identifiers": []},
        "moved": NOTHING
        | {"events": 1, "interactions": 1, "attributes": 1, "segments": 1, "jobs": 2, "enrollments": 1},
    }  # fmt: skip
    ada.refresh_from_db()
    known = (ada.external_id, ada.email, ada.phone, ada.user_id)
    assert known == ("ada", "ada@example.com", "+491701234567", "u-2")
    assert ada.attributes == {"plan": "pro", "seats": 1, "city": "Ulm"}
    assert Customer.objects.get() == ada
    assert AuditEntry.objects.get(action="merged").changes == {"customerId": [former.id, ada.id]}
    again = data(server.post(path, body), status=200)
    assert (again["customerId"], again["merged"]) == (ada.id, False)


@pytest.mark.usefixtures("former")
def test_whoever_names_them_by_a_former_identifier_reaches_who_remains(
    acme: Workspace, server: ServerClient, sdk: SdkClient, former: Customer, ada: Customer, waiting: Journey
) -> None:
    data(merge(server, acme, **BOTH), status=200)
    for named in (
        {"external_id": "ada-2"}, {"email": "a@example.com"}, {"external_id": "ada-2", "email": "a@example.com"},
        {"external_id": "ada-2", "phone": "+491701234567"}, {"customerId": former.id},
    ):  # fmt: skip
        assert put(server, acme, **named, attributes={"from": [*named]}) == ada.id
    for named in ({"external_id": "ada-2"}, {"email": "a@example.com"}):
        ((name, value),) = named.items()
        assert data(server.get(f"{customers_path(acme)}?{name}={value}"), status=200)["customerId"] == ada.id
        assert data(trigger(server, waiting, named))["customerId"] == ada.id
        assert data(server.post(customers_path(acme, "events"), {**named, "eventName": "e"}))["customerId"] == ada.id
        assert click(sdk, **named, actionType="track_event", actionData={"eventName": "seen"}).succeeded
        assert identify(sdk, user_id=f"anon-{name}", **named).succeeded
    members = SegmentFactory.create(workspace=acme)
    path = customers_path(acme, "segments", members.id, "members")
    assert data(server.post(path, {"add": ["ada-2"]}), status=200)["added"] == 1
    assert Customer.objects.get().claimed_identifiers == []
    ada.refresh_from_db()
    assert (ada.external_id, ada.email) == ("ada", "ada@example.com")
    refused(
        server.put(customers_path(acme), {"external_id": "ada-2", "remove": ["external_id"]}),
        status=409, error="Identifier needed",
    )  # fmt: skip
    put(server, acme, 201, external_id="bob", phone="7")
    assert put(server, acme, external_id="ada-2", phone="7", onConflict="skip_identifier") == ada.id
    bob = put(server, acme, 201, external_id="ada-2", email="b@example.com", remove=["email"])
    assert put(server, acme, external_id="ada-2") == bob != ada.id


@pytest.mark.usefixtures("former")
def test_a_put_that_began_before_there_was_an_alias_makes_nobody_anew(
    acme: Workspace, server: ServerClient, ada: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if somebody had been made and merged between its look for them and its write."""
    data(merge(server, acme, **BOTH), status=200)
    looks: list[Any] = []

    def look(*args: Any, **how: Any) -> list[Customer]:
        looks.append(args)
        return locked_customers(*args, **how) if looks[1:] else []

    monkeypatch.setattr("customers.identity.upsert.locked_customers", look)
    assert put(server, acme, external_id="ada-2") == ada.id


@pytest.mark.usefixtures("former")
def test_an_erasure_erases_both_and_no_page_makes_either_anew(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer
) -> None:
    data(merge(server, acme, **BOTH), status=200)
    data(server.delete(customers_path(acme, ada.id)), status=200)
    assert (Customer.objects.count(), Tombstone.objects.count()) == (0, 6)
    for named in ({"external_id": "ada-2"}, {"external_id": "ada"}, {"userId": "u-2"}, {"email": "a@example.com"}):
        click(sdk, **named, actionType="track_event", actionData={"eventName": "seen"})
    assert not Customer.objects.exists()


def test_a_merge_is_followed_by_another_and_the_last_one_has_the_name(acme: Workspace, server: ServerClient) -> None:
    ids = {name: put(server, acme, 201, external_id=name) for name in ("a", "b", "c")}
    for former, into in (("a", "b"), ("b", "c")):
        body = {"customer": {"external_id": former}, "into": {"external_id": into}}
        data(server.post(customers_path(acme, "merge"), body), status=200)
    assert {put(server, acme, external_id=name) for name in ids} == {ids["c"]}
    assert data(server.get(customers_path(acme, ids["a"])), status=200)["customerId"] == ids["c"]
    again = put(server, acme, 201, external_id="a", userId="u-1")
    d = put(server, acme, 201, external_id="d", userId="u-d")
    data(merge(server, acme, anonymous=None, customer={"customerId": again}, into={"external_id": "d"}), status=200)
    assert put(server, acme, external_id="a") == put(server, acme, userId="u-1") == d
    assert put(server, acme, external_id="b") == ids["c"]


@each(
    "claims, into_claims, named, left, aliases",
    [
        (["email"], [], {"external_id": "ada-2"}, ("ada", None, "1", "u-2"), {"external_id": "ada-2"}),
        (["email"], [], {"email": "a@example.com"}, None, None),  # a claim beside what is confirmed names nobody
        (["user_id"], [], {"external_id": "ada-2"}, ("ada", "a@example.com", "1", None), {"external_id": "ada-2"}),
        (["external_id", "email", "phone", "user_id"], [], {"email": "a@example.com"},
         ("ada", "a@example.com", None, None), {}),
        ([], ["external_id"], {"external_id": "ada-2"}, ("ada", "a@example.com", "1", "u-2"), {"external_id": "ada-2"}),
    ],
)  # fmt: skip
def test_what_only_pages_have_said_is_not_handed_on(
    acme: Workspace, server: ServerClient, claims: list[str], into_claims: list[str], named: dict[str, str],
    left: tuple[str | None, ...] | None, aliases: dict[str, str] | None,
) -> None:  # fmt: skip
    with taken_back():
        ada = CustomerFactory.create(workspace=acme, external_id="ada", claimed_identifiers=into_claims)
        CustomerFactory.create(
            workspace=acme, external_id="ada-2", email="a@example.com", phone="1", user_id="u-2",
            claimed_identifiers=claims,
        )  # fmt: skip
        answer = merge(server, acme, anonymous=None, customer=named)
        if left is None:
            refused(answer, status=404, error="Customer not found")
            return
        known = data(answer, status=200)
        ada.refresh_from_db()
        assert (ada.external_id, ada.email, ada.phone, ada.user_id) == left
        assert ada.claimed_identifiers == []
        assert set(known["aliases"]) == set(aliases or ())
        assert set(known["lost"]["identifiers"]) == {*claims} - {"user_id", *named}
        if "user_id" in claims:  # a page's word, which a server's PUT does not go by
            assert put(server, acme, 201, userId="u-2") != ada.id


@pytest.mark.usefixtures("former")
def test_two_known_people_are_merged_by_a_key_that_may_and_by_no_page(
    acme: Workspace, server: ServerClient, sdk: SdkClient
) -> None:
    writer, merger = (
        ServerClient(ApiKeyFactory.create(workspace=acme, scopes=scopes))
        for scopes in (["customers:write"], ["customers:write", "customers:merge"])
    )
    refused(merge(writer, acme, **BOTH), status=403, error="Scope missing")
    refused(merge(server, acme, customer={"external_id": "ada-2"}), status=400, error="Invalid request")
    assert not identify(sdk, user_id="u-2", external_id="ada").succeeded
    assert Customer.objects.count() == 2
    assert data(merge(merger, acme, **BOTH), status=200)["merged"]
