"""Definitions by API: whole, all mistakes at once, and never over what the caller has not seen."""

from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from bridge.models import Message
from customers.models import SegmentMembership
from engage.calls.call import Call
from engage.models import AuditEntry, Workspace
from engage.resources.resource import Resource
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.journey.opening import close
from journeys.models import Journey, JourneyRevision
from tests.support.audit import written
from tests.support.calls import data, refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import all_at_once

WAIT: dict[str, Any] = {"id": "wait", "type": "delay", "for": "P1D"}
CALL: dict[str, Any] = {"id": "call", "type": "webhook", "url": "https://mail.example/send"}
MAIL: dict[str, Any] = {"url": "https://mail.example/", "headers": {"X-Token": "hush"}}
CRM: dict[str, Any] = {"url": "https://crm.example/"}
PRO: dict[str, Any] = {"field": "customer.plan", "op": "eq", "value": "pro"}
OFFERS: dict[str, Any] = {"channels": ["email", "sms"], "default": "opted_out", "validFor": "P2Y"}
CAP: dict[str, Any] = {"key": "week", "channels": ["email"], "atMost": 3, "per": "P7D"}
NAMED = {"name": "Welcome"}
# By the kind's path: a key, a definition, another, and a bad one with the places of its mistakes.
KINDS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = [
    (
        "journeys/acme/welcome",
        {"name": "Welcome", "steps": [WAIT]},
        {"steps": [WAIT, {**WAIT, "id": "again"}]},
        {"naem": "x", "active": "yes", "maxEntriesPerCustomer": 0, "steps": [{**WAIT, "for": "soon"}, {"id": 7}]},
        ["active", "maxEntriesPerCustomer", "naem", "steps[0].for", "steps[1].id", "steps[1].type"],
    ),
    (
        "segments/acme/pro",
        {"name": "Pro", "conditions": PRO},
        {"name": "Pros", "conditions": PRO},
        {"name": 7, "members": ["ada"], "conditions": {**PRO, "op": "is"}},
        ["conditions.op", "members", "name"],
    ),
    ("connections/acme/mail", MAIL, {**MAIL, "channel": "email"}, {**MAIL, "perSecond": "fast", "channel": "pigeon"},
     ["channel", "perSecond"]),
    ("subscriptions/acme/crm", CRM, {**CRM, "types": ["job.decided"], "batch": 7},
     {"url": 7, "batch": 0, "types": "all", "colour": 1}, ["batch", "colour", "types", "url"]),
    ("variables/acme/shop", {"value": "Garden"}, {"value": ["Garden"]}, {"colour": 1}, ["colour", "value"]),
    ("contact-policy/acme", {"caps": [CAP]}, {"caps": [{**CAP, "atMost": 2}]},
     {"caps": [{**CAP, "atMost": 0}], "windows": [{"key": "day"}], "timezone": "Mars", "colour": 1},
     ["caps[0].atMost", "colour", "timezone", "windows[0].channels", "windows[0].from", "windows[0].until"]),
    ("topics/acme/offers", OFFERS, {**OFFERS, "texts": {"de": {"name": "Angebote"}}},
     {"channels": ["pigeon"], "validFor": "soon", "texts": {"Deutsch": {"name": 7, "title": "x"}}, "colour": 1},
     ["channels", "colour", "default", "texts.Deutsch", "texts.Deutsch.name", "texts.Deutsch.title", "validFor"]),
]  # fmt: skip
of_each_kind = each("kind", KINDS)


def put(server: ServerClient, path: str, body: Any, *, etag: str | None = None, query: str = "") -> Answer:
    return server.put(f"/api/v1/{path}{query}", body, headers={"If-Match": etag} if etag else {})


def stored() -> list[Any]:
    kept: list[Any] = [*(kind.model for kind in Resource.all()), JourneyRevision, AuditEntry]
    return [list(model.objects.order_by("pk").values()) for model in kept]


@of_each_kind
@pytest.mark.django_db
def test_what_is_changed_must_have_been_seen(acme: Workspace, server: ServerClient, kind: Any) -> None:
    path, first, second, bad, places = kind
    before = stored()
    trial = data(put(server, path, first, query="?dryRun=true"), status=200)
    assert (trial["outcome"], trial["dryRun"], trial["id"], stored() == before) == ("created", True, None, True)
    made = put(server, path, first)
    assert (data(made, status=201)["outcome"], made["ETag"]) == ("created", server.get(f"/api/v1/{path}")["ETag"])
    same = put(server, path, first)
    assert (data(same, status=200)["outcome"], same["ETag"]) == ("unchanged", made["ETag"])
    before = stored()
    refused(put(server, path, {}, etag="*"), status=400, error="Missing required parameter")
    refused(put(server, path, second), status=428, error="Precondition required")
    refused(put(server, path, second, etag='"stale"'), status=412, error="Precondition failed")
    refused(server.delete(f"/api/v1/{path}"), status=428, error="Precondition required")
    trial = data(put(server, path, second, query="?dryRun=true"), status=200)
    assert trial["outcome"] == "changed"
    answer = put(server, path, bad)  # before If-Match is looked at
    refused(answer, status=422, error="Definition invalid")
    told = answer.json()["details"]
    assert sorted({one["place"] for one in told}) == places, told
    assert stored() == before
    changed = put(server, path, second, etag=f'"other", {made["ETag"]}')
    assert data(changed, status=200)["changed"] == trial["changed"]
    read = server.get(f"/api/v1/{path}")
    told = data(read, status=200)
    assert (read["ETag"], told["definition"].items() >= {**second, **masked(second)}.items()) == (changed["ETag"], True)
    assert data(put(server, path, told["definition"]), status=200)["outcome"] == "unchanged"
    data(server.delete(f"/api/v1/{path}", headers={"If-Match": changed["ETag"]}), status=200)
    assert server.get(f"/api/v1/{path}").status_code == 404
    assert server.delete(f"/api/v1/{path}", headers={"If-Match": "*"}).status_code == 404
    assert AuditEntry.objects.filter(actor_kind="key").count() >= 3
    assert "hush" not in written()


@of_each_kind
@pytest.mark.django_db
def test_what_is_there_is_not_created_and_what_is_known_not_sent(
    acme: Workspace, server: ServerClient, kind: Any
) -> None:
    path, first, second, *_ = kind
    path = f"/api/v1/{path}"
    made = server.put(path, first, headers={"If-None-Match": "*"})
    etag = (data(made, status=201), made["ETag"])[1]
    for known in (etag, f"W/{etag}", f'"other", {etag}', f'"a",W/{etag} , "b"', "*"):
        answer = server.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag), known
    assert server.get(path, headers={"If-None-Match": '"other", "more"'}).status_code == 200
    before = stored()
    for names in ("*", etag, f'"other", {etag}'):
        for query in ("", "?dryRun=true"):
            answer = server.put(path + query, second, headers={"If-None-Match": names, "If-Match": etag})
            assert "must not be" in refused(answer, status=412, error="Precondition failed")
    assert stored() == before
    assert server.put(path, second, headers={"If-None-Match": '"other"', "If-Match": etag}).status_code == 200


# By the kind's path: a definition, a patch, what that leaves, and a bad patch with the places of its mistakes.
MERGED: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = [
    ("journeys/acme/welcome",
     {"name": "Welcome", "steps": [{**CALL, "headers": {"X-Token": "hush"}}], "managedBy": "git"},
     {"managedBy": None, "maxEntriesPerCustomer": 2},
     {"managedBy": None, "maxEntriesPerCustomer": 2, "name": "Welcome"},
     {"steps": [{"id": 7}], "naem": "x"}, ["naem", "steps[0].id", "steps[0].type"]),
    ("segments/acme/pro", {"name": "Pro", "conditions": PRO, "managedBy": "git"},
     {"conditions": {"value": "max"}, "managedBy": None},
     {"name": "Pro", "conditions": {**PRO, "value": "max"}, "managedBy": None}, {"members": []}, ["members"]),
    ("connections/acme/mail", {**MAIL, "headers": {"X-Token": "hush", "X-Other": "x"}, "perSecond": 7},
     {"headers": {"X-Other": None}, "channel": "email"},
     {"headers": {"X-Token": "***"}, "channel": "email", "perSecond": 7}, {"channel": "pigeon"}, ["channel"]),
    ("subscriptions/acme/crm", {**CRM, "types": ["job.decided"], "batch": 7}, {"types": None},
     {"url": CRM["url"], "types": None, "batch": 7}, {"batch": 0}, ["batch"]),
    ("variables/acme/shop", {"value": {"a": {"b": 1, "c": [1]}, "d": 1}},
     {"value": {"a": {"b": None, "c": [2]}, "e": {}}}, {"value": {"a": {"c": [2]}, "d": 1, "e": {}}},
     {"value": None}, ["value"]),
    ("contact-policy/acme", {"caps": [CAP], "requireTopic": True},
     {"caps": [{**CAP, "atMost": 2}], "requireTopic": None}, {"caps": [{**CAP, "atMost": 2}]},
     {"caps": [{**CAP, "atMost": 0}]}, ["caps[0].atMost"]),
    ("topics/acme/offers", {**OFFERS, "texts": {"de": {"name": "Angebote"}}}, {"validFor": None, "confirm": True},
     {**OFFERS, "confirm": True, "validFor": None, "texts": {"de": {"name": "Angebote"}}}, {"confirm": 1}, ["confirm"]),
    ("messages/acme/sale", {"status": "active", "content": {"kind": "card", "title": "Sale", "text": "Now"}},
     {"status": None, "content": {"title": "More", "text": None}},
     {"status": "draft", "actions": [], "forms": [], "content": {"kind": "card", "title": "More"}},
     {"status": "on", "content": {"kind": "fax"}, "colour": 1}, ["colour", "content.kind", "status"]),
]  # fmt: skip


def test_each_kind_is_patched() -> None:
    known = {call.path.partition("/")[0] for call in Call.all() if call.merges}
    assert (
        known
        == {kind.address or kind.section for kind in Resource.all()}
        == {path.partition("/")[0] for path, *_ in MERGED}
    )


@each("kind", MERGED)
@pytest.mark.django_db
def test_a_patch_changes_what_it_names_and_takes_away_what_it_says_is_null(
    acme: Workspace, server: ServerClient, kind: Any
) -> None:
    path, first, patch, wanted, bad, places = kind
    path = f"/api/v1/{path}"
    assert server.patch(path, patch).status_code == 404
    etag = (data(server.put(path, first), status=201), server.get(path)["ETag"])[1]
    before = stored()
    refused(server.patch(path, {}), status=400, error="Missing required parameter")
    if "messages" not in path:
        refused(server.patch(path, patch), status=428, error="Precondition required")
    refused(server.patch(path, patch, headers={"If-Match": '"stale"'}), status=412, error="Precondition failed")
    refused(server.patch(path, {"key": "other"}), status=422, error="Definition invalid")
    answer = server.patch(path, bad)
    refused(answer, status=422, error="Definition invalid")
    assert sorted({one["place"] for one in answer.json()["details"]}) == places
    trial = data(server.patch(f"{path}?dryRun=true", patch), status=200)
    same = data(
        server.patch(path, {"key": "contact-policy" if "policy" in path else path.rpartition("/")[2]}), status=200
    )
    assert (trial["outcome"], trial["dryRun"], same["outcome"], stored()) == ("changed", True, "unchanged", before)
    answer = server.patch(path, patch, headers={"If-Match": etag}, content_type="application/merge-patch+json")
    told = data(answer, status=200)
    assert (told["changed"], told["definition"]) == (trial["changed"], trial["definition"])
    assert told["definition"].items() >= wanted.items()
    assert data(server.put(path, told["definition"]), status=200)
    assert server.get(path)["ETag"] == answer["ETag"] != etag
    assert AuditEntry.objects.filter(actor_kind="key").count() == 2
    assert "hush" not in written()
    assert ("hush" in str(stored())) == ("hush" in str(first))


@pytest.mark.django_db
def test_a_patch_has_two_types_and_nothing_else_has_the_second(acme: Workspace, server: ServerClient) -> None:
    path, patch = "/api/v1/variables/acme/shop", "application/merge-patch+json"
    answer = server.patch(path, {"value": 1}, content_type="application/json-patch+json")
    refused(answer, status=415, error="Unsupported media type")
    assert answer["Accept-Patch"] == f"application/json, {patch}"
    answer = server.put(path, {"value": 1}, content_type=patch)
    refused(answer, status=415, error="Unsupported media type")
    assert "Accept-Patch" not in answer
    assert "PATCH" in server.post(path, {"value": 1})["Allow"]


@pytest.mark.django_db
def test_messages_heed_what_was_seen_and_never_ask_for_it(acme: Workspace, server: ServerClient) -> None:
    path = "/api/v1/messages/acme/sale"
    shown: dict[str, Any] = {"kind": "card", "title": "Sale"}
    trial = data(server.put(f"{path}?dryRun=true", {"content": shown}), status=200)
    assert (trial["dryRun"], trial["content"], Message.objects.exists()) == (True, shown, False)
    refused(server.put(path, {"status": "active"}, headers={"If-Match": "*"}), status=404, error="Message not found")
    made = server.put(path, {"content": shown})
    etag = (data(made, status=201), made["ETag"])[1]
    assert server.get(path, headers={"If-None-Match": etag}).status_code == 304
    stale = {"headers": {"If-Match": '"stale"'}}
    before = stored()
    refused(server.put(path, {"status": "active"}, **stale), status=412, error="Precondition failed")
    refused(server.delete(path, **stale), status=412, error="Precondition failed")
    trial = data(server.put(f"{path}?dryRun=true", {"status": "active"}), status=200)
    assert (trial["status"], stored()) == ("active", before)
    answer = server.put(path, {"status": "active"}, headers={"If-Match": etag})
    told = data(answer, status=200)
    assert [one["place"] for one in told["warnings"]] == ["content"]
    assert (told["content"], told["revision"], "dryRun" in told) == (shown, 1, False)
    assert answer["ETag"] == server.get(path)["ETag"] != etag
    told = data(server.put(path, {"content": {}, "status": "draft"}), status=200)
    assert (told["content"], told["revision"], "warnings" in told) == (None, 2, False)
    data(server.delete(path), status=200)


def masked(item: dict[str, Any]) -> dict[str, Any]:
    return {"headers": dict.fromkeys(item["headers"], "***")} if "headers" in item else {}


@pytest.mark.django_db
def test_state_is_no_part_of_a_journey_s_definition(acme: Workspace, server: ServerClient) -> None:
    made = put(server, "journeys/acme/welcome", {"steps": [WAIT]})
    journey = Journey.objects.get(key="welcome")
    close(journey, reason="Enough.", actor="staff", dry_run=False, now=timezone.now())
    assert server.get(f"/api/v1/journeys/acme/{journey.id}")["ETag"] == made["ETag"]
    changed = put(server, "journeys/acme/welcome", {"steps": [], "active": True}, etag=made["ETag"])
    told = data(changed, status=200)
    assert [one["place"] for one in told["warnings"]] == ["active"]
    assert "active" not in told["definition"]
    journey.refresh_from_db()
    assert (journey.active, journey.revision) == (False, 2)


@pytest.mark.django_db
def test_members_stay_whatever_becomes_of_the_segment_s_condition(acme: Workspace, server: ServerClient) -> None:
    SegmentFactory.create(workspace=acme, key="vip", members=[CustomerFactory.create(workspace=acme)])
    assert put(server, "segments/acme/vip", {"conditions": PRO}, etag="*").status_code == 200
    assert SegmentMembership.objects.count() == 1


@pytest.mark.django_db
def test_secrets_are_kept_by_their_mask_and_never_answered(acme: Workspace, server: ServerClient) -> None:
    calling = {"steps": [{**CALL, "headers": {"X-Token": "hush"}}]}
    made = put(server, "journeys/acme/welcome", calling)
    data(made, status=201)
    shown = {"steps": [{**CALL, "headers": {"X-Token": "***"}}]}
    assert data(put(server, "journeys/acme/welcome", shown), status=200)["outcome"] == "unchanged"
    other = {"steps": [{**CALL, "headers": {"X-Token": "another"}}]}
    assert data(put(server, "journeys/acme/welcome", other, etag=made["ETag"]), status=200)["changed"] == ["steps"]
    answer = put(server, "journeys/acme/other", shown)
    assert refused(answer, status=422, error="Secret needed").startswith("steps[0].headers.X-Token needs its value")
    env = {"steps": [{**CALL, "headers": {"X-Token": {"env": "PATH"}}}]}
    refused(put(server, "journeys/acme/other", env), status=422, error="Definition invalid")
    for told in (made, server.get("/api/v1/journeys/acme/welcome")):
        assert b"hush" not in told.content
        assert b"another" not in told.content


@pytest.mark.django_db
def test_what_journeys_use_is_neither_deleted_nor_broken(acme: Workspace, server: ServerClient) -> None:
    inputs = {"type": "object", "required": [], "properties": {"to": {"type": "string"}}}
    sends = {"id": "send", "type": "send", "connection": "mail", "inputs": {"to": "{{ vars.shop }}"}}
    for path, body in {
        "variables/acme/shop": {"value": "Garden"},
        "connections/acme/mail": {**MAIL, "body": {"to": "{{ inputs.to }}"}, "inputs": inputs},
        "journeys/acme/welcome": {"steps": [sends]},
    }.items():
        data(put(server, path, body), status=201)
    seen = {"If-Match": "*"}
    refused(server.delete("/api/v1/variables/acme/shop", headers=seen), status=409, error="Variable in use")
    refused(server.delete("/api/v1/connections/acme/mail", headers=seen), status=409, error="Connection in use")
    more = {
        **MAIL,
        "body": {"to": "{{ inputs.name }}"},
        "inputs": {**inputs, "required": ["name"], "properties": {"name": {"type": "string"}}},
    }
    refused(put(server, "connections/acme/mail", more, etag="*"), status=409, error="Breaks journeys")
    data(put(server, "connections/acme/mail", more, etag="*", query="?confirm=true"), status=200)


@pytest.mark.django_db
def test_what_was_deleted_while_a_journey_was_closed_must_be_there_to_open_it(
    acme: Workspace, server: ServerClient
) -> None:
    steps = [
        {"id": "mail", "type": "send", "connection": "mail", "inputs": {"shop": "{{ vars.shop }}"}},
        {**CALL, "body": {"shop": {"$value": "vars.shop", "default": ["{{ vars.kept }}"]}}},
    ]
    for path, body in (("connections/acme/mail", MAIL), ("variables/acme/shop", {"value": 1}),
                       ("variables/acme/kept", {"value": 1}), ("journeys/acme/welcome", {"steps": steps})):  # fmt: skip
        data(put(server, path, body), status=201)
    path = "/api/v1/journeys/acme/welcome"
    data(server.post(f"{path}/close", {}), status=200)
    for gone in ("variables/acme/shop", "connections/acme/mail"):
        data(server.delete(f"/api/v1/{gone}", headers={"If-Match": "*"}), status=200)
    before = stored()
    for query in ("?dryRun=true", ""):
        message = refused(server.post(f"{path}/activate{query}", {}), status=400, error="Invalid journey")
        assert message == "steps[0].inputs.shop reads vars.shop, but the workspace has no variable of this name."
    assert stored() == before
    with pytest.raises(InvalidJourney) as why:
        save_journey(workspace=acme, key="welcome", active=True, now=timezone.now())
    assert [one.place for one in why.value.all_found()] == [
        "steps[0].inputs.shop", "steps[0].connection", "steps[1].body.shop.$value",
    ]  # fmt: skip
    data(put(server, "journeys/acme/welcome", {"steps": steps, "name": "Renamed"}, etag="*"), status=200)
    for path_of, body in (("connections/acme/mail", MAIL), ("variables/acme/shop", {"value": 1})):
        data(put(server, path_of, body), status=201)
    assert data(server.post(f"{path}/activate", {}), status=200)["state"] == "active"


@pytest.mark.django_db
def test_keys_of_another_form_are_mistakes_and_an_archived_journey_keeps_its_own(
    acme: Workspace, server: ServerClient
) -> None:
    for key in ("Upper", "jobs", "a%00b", "x" * 101):
        refused(put(server, f"journeys/acme/{key}", NAMED), status=422, error="Definition invalid")
    assert put(server, f"journeys/acme/{'a' * 24}", NAMED).status_code == 404
    refused(put(server, "journeys/acme/welcome", {"key": "other"}), status=422, error="Definition invalid")
    JourneyFactory.create(workspace=acme, key="old", active=False, archived_at=timezone.now())
    refused(put(server, "journeys/acme/old", NAMED, etag="*"), status=422, error="Definition invalid")
    assert not Journey.objects.exclude(key="old").exists()


@pytest.mark.django_db
@each("kind", [kind for kind in KINDS if kind[0].count("/") > 1])
@each("key", ["%20", "%0a", "%00", "a%00b"])
def test_a_key_that_is_none_is_a_mistake(acme: Workspace, server: ServerClient, kind: Any, key: str) -> None:
    path, body, *_ = kind
    answer = put(server, f"{path.rpartition('/')[0]}/{key}", body)
    refused(answer, status=422, error="Definition invalid")
    assert not any(stored())


def test_a_key_for_certain_journeys_makes_no_others(acme: Workspace, server: ServerClient) -> None:
    mine = JourneyFactory.create(workspace=acme, key="mine")
    type(server.key).objects.filter(id=server.key.id).update(journeys=[mine.id])
    assert put(server, "journeys/acme/mine", NAMED, etag="*").status_code == 200
    for key in ("new", "mine2"):
        refused(put(server, f"journeys/acme/{key}", NAMED), status=403, error="Journey not allowed")


@pytest.mark.django_db(transaction=True)
def test_of_those_who_have_seen_the_same_one_alone_changes_it(acme: Workspace, server: ServerClient) -> None:
    etag = put(server, "journeys/acme/welcome", NAMED)["ETag"]
    callers = [partial(put, server, "journeys/acme/welcome", {"name": f"W{n}"}, etag=etag) for n in range(4)]
    answers = [answer.status_code for answer in all_at_once(callers)]
    assert sorted(answers) == [200, 412, 412, 412]
    assert Journey.objects.get().name.startswith("W")
