"""`GET /api/v1/journeys/{workspaceId}/triggers/{triggerId}`: who called, what the call said, and whom it left out."""

import random
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer, Segment
from engage.models import Workspace
from journeys.models import Journey, Trigger, UnknownExternalId
from tests.support.calls import customers_path, data, let_workers_decide, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import NAMES, ApiKeyFactory, Cast, CustomerFactory, JourneyFactory, SegmentFactory, crowd
from tests.support.tables import tables_that_mention

pytestmark = pytest.mark.usefixtures("cast")


@pytest.fixture
def vip(acme: Workspace, cast: Cast) -> Segment:
    """Ada and Grace were put into it, Alan meets its conditions."""
    conditions = {"field": "customer.external_id", "op": "eq", "value": "alan"}
    return SegmentFactory.create(workspace=acme, members=[cast["ada"], cast["grace"]], conditions=conditions)


def looked_up(server: ServerClient, journey: Journey, body: dict[str, Any]) -> dict[str, Any]:
    """What the look-up of the call's trigger tells."""
    answered = data(trigger(server, journey, body))
    return data(server.get(path_of(journey, answered)), status=200)


def path_of(journey: Journey, answered: dict[str, Any]) -> str:
    return f"/api/v1/journeys/{journey.workspace_id}/triggers/{answered['triggerId']}"


def told(cast: Cast, *names: str) -> list[dict[str, str]]:
    return [{"customerId": cast[name].id, "external_id": name} for name in names]


def test_of_a_call_by_names_and_segments_everybody_is_accounted_for(
    server: ServerClient, journey: Journey, cast: Cast, vip: Segment
) -> None:
    body = {
        "external_ids": ["nobody", "edsger", "grace", " ", "ada", "ada", "alan"],
        "segment_ids": [vip.id],
        "exclude_external_ids": ["grace", "edsger", "bobb"],
    }
    state = looked_up(server, journey, body)
    assert state["customers"] == 2  # Ada and Alan
    assert state["call"] == {
        "externalIds": 6,
        "segmentIds": [vip.id],
        "exclusions": told(cast, "grace", "edsger"),
        "unknownExclusions": ["bobb"],
        "leftOut": {"unknown": 2, "excluded": 1, "notInSegments": 1},
        "unknownExternalIds": ["nobody", " "],
        "excluded": told(cast, "grace"),
        "notInSegments": told(cast, "edsger"),
    }


def test_of_a_call_by_segments_alone_the_excluded_are_those_who_belong_to_them(
    server: ServerClient, journey: Journey, cast: Cast, vip: Segment
) -> None:
    body = {"segment_ids": [vip.id], "exclude_external_ids": ["alan", "edsger", "ada"]}
    state = looked_up(server, journey, body)
    assert state["customers"] == 1
    assert state["call"] == {
        "externalIds": 0,
        "segmentIds": [vip.id],
        "exclusions": told(cast, "alan", "edsger", "ada"),
        "unknownExclusions": [],
        "leftOut": {"unknown": 0, "excluded": 2, "notInSegments": 0},
        "unknownExternalIds": [],
        "excluded": told(cast, "alan", "ada"),
        "notInSegments": [],
    }


def test_a_call_that_selected_nobody_tells_why(server: ServerClient, journey: Journey, vip: Segment) -> None:
    body = {"external_ids": ["ada", "edsger", "nobody"], "segment_ids": [vip.id], "exclude_external_ids": ["ada"]}
    state = looked_up(server, journey, body)
    assert state["customers"] == 0
    assert state["call"]["leftOut"] == {"unknown": 1, "excluded": 1, "notInSegments": 1}


def test_named_with_no_segments_at_all_everybody_is_outside(server: ServerClient, journey: Journey, cast: Cast) -> None:
    call = looked_up(server, journey, {"external_ids": ["ada"], "segment_ids": []})["call"]
    assert (call["segmentIds"], call["notInSegments"]) == ([], told(cast, "ada"))


def test_the_key_that_called_is_told(acme: Workspace, journey: Journey) -> None:
    for body in ({"external_id": "ada"}, {"external_ids": ["ada"]}):
        key = ApiKeyFactory.create(workspace=acme)
        state = looked_up(ServerClient(key), journey, body)
        assert (state["apiKeyId"], state["apiKeyName"]) == (key.id, key.name)


def test_what_was_sent_for_one_customer_left_out_nobody(server: ServerClient, journey: Journey) -> None:
    state = looked_up(server, journey, {"external_id": "ada", "exclude_external_ids": ["grace"]})
    assert (state["customers"], state["call"]) == (1, None)


def test_of_an_event_s_trigger_neither_a_key_nor_a_call_is_told(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, trigger_type="event", event_name="paid")
    data(server.post(customers_path(acme, "events"), {"external_id": "ada", "eventName": "paid"}))
    state = data(server.get(path_of(journey, {"triggerId": Trigger.objects.get().id})), status=200)
    assert (state["apiKeyId"], state["apiKeyName"], state["call"]) == (None, None, None)


def test_what_is_told_is_as_of_the_call(
    server: ServerClient, acme: Workspace, journey: Journey, cast: Cast, vip: Segment
) -> None:
    body = {"external_ids": ["edsger", "late"], "segment_ids": [vip.id]}
    answered = data(trigger(server, journey, body))
    CustomerFactory.create(workspace=acme, external_id="late")
    data(server.post(customers_path(acme, "segments", vip.id, "members"), {"add": ["edsger", "late"]}), status=200)
    call = data(server.get(path_of(journey, answered)), status=200)["call"]
    assert (call["unknownExternalIds"], call["notInSegments"]) == (["late"], told(cast, "edsger"))


@each("seed", range(12))
def test_a_call_leaves_out_whom_its_dry_run_leaves_out(
    server: ServerClient, journey: Journey, acme: Workspace, cast: Cast, vip: Segment, seed: int
) -> None:
    chance = random.Random(seed)
    static = SegmentFactory.create(workspace=acme, members=[cast["edsger"]])
    everybody = [*NAMES, "nobody", "none", ""]

    def some(choices: list[str]) -> list[str]:
        return chance.choices(choices, k=chance.randint(1, 7))

    body: dict[str, Any] = {"exclude_external_ids": some(everybody)}
    if seed % 3 != 1:
        body["external_ids"] = some(everybody)
    if seed % 3 != 2:
        body["segment_ids"] = some([vip.id, static.id])
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
    tried = data(server.post(path, body), status=200)
    state = looked_up(server, journey, body)
    call = state["call"]
    left_out = ("unknownExternalIds", "excluded", "notInSegments")
    assert {name: call[name] for name in left_out} == {name: tried[name] for name in left_out}
    assert state["customers"] == tried["found"]
    if "external_ids" in body:
        assert call["externalIds"] == state["customers"] + sum(call["leftOut"].values())


def test_an_unknown_external_id_of_any_length_is_told(server: ServerClient, journey: Journey) -> None:
    state = looked_up(server, journey, {"external_ids": ["é" * 5_000, "é" * 5_001, "ada"]})
    assert state["customers"] == 1
    assert state["call"]["unknownExternalIds"] == ["é" * 255] * 2  # no customer's is longer


def test_what_was_sent_before_this_was_kept_is_not_known(server: ServerClient, journey: Journey) -> None:
    answered = data(trigger(server, journey, {"external_ids": ["ada", "nobody"]}))
    UnknownExternalId.objects.all().delete()
    Trigger.objects.update(selection=None, called_by="")
    state = data(server.get(path_of(journey, answered)), status=200)
    assert (state["apiKeyId"], state["call"]) == (None, None)


@pytest.mark.parametrize("number", [1, 1000])
def test_a_thousand_left_out_cost_as_many_queries_as_one(
    transactional_db: None,
    server: ServerClient,
    journey: Journey,
    acme: Workspace,
    django_assert_num_queries: DjangoAssertNumQueries,
    number: int,
) -> None:
    known, unknown = crowd(acme, number), [f"nobody-{n}" for n in range(number)]
    body = {"external_ids": unknown, "exclude_external_ids": known}
    data(trigger(server, journey, body))  # notes the use of the key
    with django_assert_num_queries(3):  # key, journey, and the one statement
        answered = data(trigger(server, journey, body))
    with django_assert_num_queries(7):  # key; trigger, jobs, when they are due, the key's name, customers, unknown ones
        call = data(server.get(path_of(journey, answered)), status=200)["call"]
    assert call["leftOut"]["unknown"] == len(call["unknownExternalIds"]) == len(call["exclusions"]) == number


# Whoever is erased -------------------------------------------------------------------------------------------------


def test_of_erased_customers_the_ids_alone_are_told(
    server: ServerClient, acme: Workspace, journey: Journey, cast: Cast, vip: Segment, rival: Workspace
) -> None:
    Customer.objects.filter(workspace=rival).delete()
    body = {"external_ids": ["grace", "edsger"], "segment_ids": [vip.id], "exclude_external_ids": ["grace"]}
    answered = data(trigger(server, journey, body))
    for name in ("grace", "edsger"):
        data(server.delete(customers_path(acme, cast[name].id)), status=200)
    call = data(server.get(path_of(journey, answered)), status=200)["call"]
    assert call["excluded"] == call["exclusions"] == [{"customerId": cast["grace"].id, "external_id": None}]
    assert call["notInSegments"] == [{"customerId": cast["edsger"].id, "external_id": None}]
    assert not tables_that_mention("grace")
    assert not tables_that_mention("edsger")


@each("field", ["external_ids", "exclude_external_ids"])
def test_an_external_id_that_was_unknown_goes_with_the_person_who_came_to_have_it(
    server: ServerClient, acme: Workspace, journey: Journey, field: str
) -> None:
    body = {"external_ids": ["ada"], "exclude_external_ids": ["x"], field: ["ada", "lovelace", "other"]}
    answered = data(trigger(server, journey, body))
    customer = data(server.put(customers_path(acme), {"external_id": "lovelace"}), status=201)
    assert tables_that_mention("lovelace")
    data(server.delete(customers_path(acme, customer["customerId"])), status=200)
    assert not tables_that_mention("lovelace")
    call = data(server.get(path_of(journey, answered)), status=200)["call"]
    if field == "external_ids":
        assert (call["unknownExternalIds"], call["leftOut"]["unknown"]) == (["other"], 2)
    else:
        assert call["unknownExclusions"] == ["other"]


def test_another_workspace_s_person_of_that_external_id_takes_nothing_along(
    server: ServerClient, rival_server: ServerClient, acme: Workspace, rival: Workspace, journey: Journey
) -> None:
    answered = data(trigger(server, journey, {"external_ids": ["nobody"]}))
    theirs = Customer.objects.get(workspace=rival, external_id="nobody")
    data(rival_server.delete(customers_path(rival, theirs.id)), status=200)
    call = data(server.get(path_of(journey, answered)), status=200)["call"]
    assert call["unknownExternalIds"] == ["nobody"]


def test_a_payload_for_somebody_unknown_goes_with_them(server: ServerClient, acme: Workspace, journey: Journey) -> None:
    alone = data(trigger(server, journey, {"external_ids": ["lovelace"], "payload": {"name": "Lovelace"}}))
    both = data(trigger(server, journey, {"external_ids": ["lovelace", "ada"], "payload": {"sale": "spring"}}))
    customer = data(server.put(customers_path(acme), {"external_id": "lovelace"}), status=201)
    data(server.delete(customers_path(acme, customer["customerId"])), status=200)
    assert Trigger.objects.get(id=alone["triggerId"]).payload == {}
    assert Trigger.objects.get(id=both["triggerId"]).payload == {"sale": "spring"}


def test_in_the_history_stands_what_queued_the_customer_and_nothing_else(
    server: ServerClient, acme: Workspace, journey: Journey, cast: Cast
) -> None:
    data(trigger(server, journey, {"external_ids": ["ada", "grace"], "exclude_external_ids": ["grace"]}))
    let_workers_decide()
    triggers = {
        name: data(server.get(customers_path(acme, cast[name].id, "journeys")), status=200)["triggers"]
        for name in ("ada", "grace")
    }
    assert [len(triggers[name]) for name in ("ada", "grace")] == [1, 0]
