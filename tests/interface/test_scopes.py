"""What a key is limited to: scopes, journeys and networks. Every call is crossed with every scope."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config import ROOT
from config.docs.documentation import openapi_document
from engage.calls.call import Call
from engage.models import ApiKey, Workspace
from engage.scopes import Scope
from tests.interface.tenants import CALLS, OF_WHATEVER_IS_THERE, Tenant, body_of, everything_of, path_of, tenant
from tests.support.calls import customers_path, data, let_workers_decide, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import ApiKeyFactory, JourneyFactory
from tests.support.tables import taken_back

SCOPE_OF_CALL = {(call.method, call.path): call.scope for call in Call.all() if call.signature.is_of_server}
# What a scope gives, beside the calls that need just it.
INCLUDED = {Scope.CUSTOMERS_READ: {Scope.CUSTOMERS_WRITE}}
OF_JOURNEYS = re.compile(r"\{(journey|job|trigger|enrollment)Id\}")


@pytest.fixture
def us(acme: Workspace, server: ServerClient) -> Tenant:
    return tenant(acme, server)


def limited(workspace: Workspace, **limits: Any) -> ServerClient:
    """Whoever has a key with these limits."""
    caller = ServerClient(ApiKeyFactory.create(workspace=workspace, **limits))
    caller.headers.update(OF_WHATEVER_IS_THERE)
    return caller


def all_but_the_audit(workspace: Workspace) -> dict[str, Any]:
    """Which tells that something was refused."""
    return everything_of(workspace) | {"engage_auditentry": []}


# Scopes ---------------------------------------------------------------------------------------------------------------


def test_every_call_of_a_server_has_a_scope_and_nothing_else_has_one() -> None:
    documented = {
        (method.upper(), path.removeprefix("/api/v1/")): operation["x-required-scope"]
        for path, operations in openapi_document()["paths"].items()
        for method, operation in operations.items()
        if "apiKey" in operation["security"][0]
    }
    assert documented == SCOPE_OF_CALL


def test_the_documentation_has_the_same_table() -> None:
    told = (ROOT / "docs/access.md").read_text()
    rows = re.findall(r"^\| `([A-Z]+) (\S+)` \| `?([a-z:]+)`? \|$", told, re.MULTILINE)
    table = [((method, path), scope or "none") for (method, path), scope in SCOPE_OF_CALL.items()]
    assert sorted(((method, path), scope) for method, path, scope in rows) == sorted(table)
    assert [scope for scope in Scope if f"\n| `{scope}` | " not in told] == []


@pytest.mark.slow
def test_a_call_is_made_with_its_scope_and_refused_with_every_other(us: Tenant, subtests: pytest.Subtests) -> None:
    callers = {scope: limited(us.workspace, scopes=[scope]) for scope in Scope}
    for caller in callers.values():
        assert caller.get("/api/v1/me").status_code == 200
    before = all_but_the_audit(us.workspace)
    for call in CALLS:
        assert call.scope is not None
        enough = {call.scope, *INCLUDED.get(call.scope, ())}
        sent = call.method, path_of(call, us.ids()), body_of(call)
        with subtests.test(call=call.operation_id):
            for other in {*Scope} - enough:
                answer = callers[other].call(*sent)
                assert refused(answer, status=403, error="Scope missing") == (
                    f"This API key lacks the scope {call.scope}, which this call needs."
                )
                assert answer.json()["code"] == "scope_missing"
            assert all_but_the_audit(us.workspace) == before
            for one in enough:
                with taken_back():
                    answer = callers[one].call(*sent)
                    assert answer.succeeded, answer


def test_a_key_for_messages_does_nothing_else(us: Tenant) -> None:
    caller = limited(us.workspace, scopes=["messages"])
    allowed = []
    for call in CALLS:
        with taken_back():
            if caller.call(call.method, path_of(call, us.ids()), body_of(call)).succeeded:
                allowed.append(f"{call.method} {call.path.partition('/')[0]}")
    assert allowed == ["GET messages", "PUT messages", "PATCH messages", "GET messages", "DELETE messages"]


def test_a_dry_run_shows_people_so_it_needs_to_read_them(us: Tenant) -> None:
    path = f"/api/v1/journeys/{us.workspace.id}/{us.journey.id}/trigger?dryRun=true"
    answer = limited(us.workspace, scopes=["trigger"]).post(path, {"external_id": "ada"})
    assert "customers:read" in refused(answer, status=403, error="Scope missing")
    assert limited(us.workspace, scopes=["trigger", "customers:write"]).post(path, {"external_id": "ada"}).succeeded


def test_a_refused_call_counts_and_another_method_is_told_as_such(us: Tenant) -> None:
    caller = limited(us.workspace, scopes=["stats"], rate_limit="1/h", customers_rate_limit="2/h")
    path = customers_path(us.workspace, us.customer.id)
    assert [caller.get(path).status_code for _ in range(3)] == [403, 403, 429]
    assert limited(us.workspace, scopes=["stats"]).put(path, {}).status_code == 405


def test_a_limited_key_costs_a_trigger_no_query(us: Tenant) -> None:
    limits = {"scopes": ["trigger"], "journeys": [us.journey.id], "networks": ["127.0.0.0/8"]}
    number = []
    for caller in (limited(us.workspace), limited(us.workspace, **limits)):
        data(trigger(caller, us.journey, {"external_id": "ada"}))
        with CaptureQueriesContext(connection) as queries:
            data(trigger(caller, us.journey, {"external_id": "ada"}))
        number.append(len(queries))
    assert number[0] == number[1]


# Journeys -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_key_for_other_journeys_reaches_nothing_of_a_journey(us: Tenant, subtests: pytest.Subtests) -> None:
    other = JourneyFactory.create(workspace=us.workspace, key="other")
    own, foreign = (limited(us.workspace, journeys=[journey.id]) for journey in (us.journey, other))
    for caller in (own, foreign):
        caller.get("/api/v1/me")
    before = all_but_the_audit(us.workspace)
    for call in CALLS:
        sent = call.method, path_of(call, us.ids()), body_of(call)
        with subtests.test(call=call.operation_id):
            if OF_JOURNEYS.search(call.path):
                answer = foreign.call(*sent)
                told = refused(answer, status=403, error="Journey not allowed")
                assert told == f"This API key is not for the journey '{us.journey.id}'."
                assert all_but_the_audit(us.workspace) == before
            with taken_back():
                answer = own.call(*sent)
                if call.of_all_journeys:
                    refused(answer, status=403, error="Journey not allowed")
                else:
                    assert answer.succeeded


def test_a_customer_s_journeys_are_those_of_the_key(us: Tenant) -> None:
    other = JourneyFactory.create(workspace=us.workspace, key="other")
    data(trigger(us.server, other, {"external_id": "ada"}))
    let_workers_decide()
    path = customers_path(us.workspace, us.customer.id, "journeys")
    for journeys, shown in ([other.id], {other.id}), ([], set()), (None, {us.journey.id, other.id}):
        page = data(limited(us.workspace, journeys=journeys).get(path), status=200)
        assert {one["journeyId"] for one in page["triggers"]} == shown


def test_what_does_not_exist_is_not_found_also_with_a_limited_key(us: Tenant) -> None:
    caller, nothing = limited(us.workspace, journeys=[us.journey.id]), "0" * 24
    for below in (f"triggers/{nothing}", f"enrollments/{nothing}", "jobs/none"):
        assert caller.get(f"/api/v1/journeys/{us.workspace.id}/{below}").status_code == 404


# Networks -------------------------------------------------------------------------------------------------------------


@each(
    "peer, may_call",
    [
        ("203.0.113.7", True),
        ("::ffff:203.0.113.7", True),
        ("203.0.114.7", False),
        ("198.51.100.9", True),
        ("2001:db8:0:0:1::9", True),
        ("2001:db8::2:0:0:9", False),
        ("", False),
    ],
)
def test_a_key_is_used_from_its_networks_only(us: Tenant, peer: str, may_call: bool) -> None:
    caller = limited(us.workspace, networks=["203.0.113.0/24", "::ffff:198.51.100.9", "2001:db8:0:0:1::/80"])
    answer = caller.get("/api/v1/me", REMOTE_ADDR=peer)
    if may_call:
        data(answer, status=200)
        return
    told = refused(answer, status=401, error="Network not allowed")
    assert told == f"This API key may not be used from {peer or 'an unknown address'}."
    stored = ApiKey.objects.get(id=caller.key.id)
    assert (stored.last_used_at, stored.last_used_from) == (None, None)


def test_whoever_stole_a_key_cannot_use_up_its_limit(us: Tenant) -> None:
    caller = limited(us.workspace, networks=["10.0.0.0/8"], rate_limit="1/h")
    path = f"/api/v1/journeys/{us.workspace.id}/{us.journey.id}/trigger"
    for _ in range(3):
        assert caller.post(path, {"external_id": "ada"}).status_code == 401
    assert caller.post(path, {"external_id": "ada"}, REMOTE_ADDR="10.1.2.3").status_code == 202


# What a key is --------------------------------------------------------------------------------------------------------


def test_a_key_is_told_what_it_is(us: Tenant, rival: Workspace) -> None:
    limits = {"scopes": ["trigger", "stats"], "journeys": [us.journey.id], "networks": ["127.0.0.0/8"]}
    caller = limited(us.workspace, name="shop", rate_limit="7/s", events_rate_limit="9/m", **limits)
    told = data(caller.get("/api/v1/me"), status=200)
    assert told == {
        "keyId": caller.key.id,
        "name": "shop",
        "prefix": caller.key.prefix,
        "workspace": {"workspaceId": us.workspace.id, "key": "acme", "name": "Acme"},
        **limits,
        "expiresAt": None,
        "limits": {
            "trigger": {"calls": 7, "seconds": 1},
            "customers": {"calls": 70, "seconds": 1},
            "events": {"calls": 9, "seconds": 60},
            "lookup": {"calls": 70, "seconds": 1},
        },
    }
    theirs = data(limited(rival).get("/api/v1/me"), status=200)
    assert theirs["workspace"]["workspaceId"] == rival.id
    assert (theirs["scopes"], theirs["journeys"], theirs["networks"]) == (None, None, None)
