"""Variables of a workspace stand in templates, hold at once, and stay while a definition reads them."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.models import Enrollment, Journey, Variable
from journeys.tasks import walk
from journeys.variable.resource import VARIABLES, VariableInUse
from tests.support.audit import told
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, JourneyFactory

pytestmark = pytest.mark.django_db
NOTE = {"id": "note", "type": "update_profile", "attributes": {"shop": "{{ vars.shop }} {{ vars.colours[0] }}"}}


def have(workspace: Workspace, **values: Any) -> None:
    for name, value in values.items():
        VARIABLES.save(workspace=workspace, key=name, value=value, now=timezone.now())


def save(workspace: Workspace, steps: Any, **fields: Any) -> Journey:
    return save_journey(workspace=workspace, key="welcome", now=timezone.now(), steps=steps, **fields).journey


def make_due() -> None:
    Enrollment.objects.filter(state="active").update(due_at="2020-01-01T00:00Z")


def test_a_changed_variable_holds_at_once_and_is_of_its_workspace(
    server: ServerClient, acme: Workspace, rival: Workspace, ada: Customer
) -> None:
    have(rival, shop="Theirs")
    have(acme, shop="Garden", colours=["green", "red"])
    journey = save(acme, [DAY, NOTE])
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    walk()
    have(acme, shop="Orchard")
    make_due()
    walk()
    ada.refresh_from_db()
    assert ada.attributes["shop"] == "Orchard green"
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
    tried = data(server.post(path, {"external_id": "ada"}), status=200)
    assert [step["writes"] for step in tried["rehearsal"]["steps"]] == [None, None, {"shop": "Orchard green"}]


def statements_of_a_walk(server: ServerClient, journey: Journey) -> int:
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    with CaptureQueriesContext(
        connection,
    ) as statements:
        walk()
    return len(statements)


def test_a_journey_that_reads_none_costs_no_statement(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    plain = {**NOTE, "attributes": {"shop": "Garden {{ customer.id }}"}}
    costs = [
        statements_of_a_walk(server, JourneyFactory.create(workspace=acme, steps=[step]))
        for step in (plain, plain, NOTE)  # the first one reads the course
    ]
    assert costs[2] == costs[1] + 1


def test_an_unknown_one_is_a_mistake_and_so_is_no_name(acme: Workspace, rival: Workspace) -> None:
    have(rival, shop="Theirs")
    have(acme, colours=["green"])
    body = {
        "a": "{{ vars.shop }}",
        "b": "{{ vars | json }}",
        "c": "{{ vars[customer.plan] }}",
        "d": "{{ vars.colours }}",
    }
    step = {"id": "call", "type": "webhook", "url": "https://a.example/{{ vars.path }}", "body": body}
    with pytest.raises(InvalidJourney) as refused:
        save(acme, [step])
    assert {one.message.partition(" reads ")[::2] for one in refused.value.all_found()} >= {
        ("steps[0].body.a", "vars.shop, but the workspace has no variable of this name."),
        ("steps[0].body.c", "vars without a name: write vars and the name of a variable, such as vars.shop."),
        ("steps[0].url", "vars.path, but the workspace has no variable of this name."),
    }
    condition = {"field": "vars.shop", "op": "eq", "value": "Garden"}
    with pytest.raises(InvalidJourney, match="entryConditions"):
        save(acme, [], entry_conditions=condition)


def test_one_that_is_read_cannot_be_deleted(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    have(acme, shop="Garden", colours=["green"], free=1)
    journey = save(acme, [DAY, NOTE])
    shop = Variable.objects.get(name="shop")
    with pytest.raises(VariableInUse, match="read by the journey welcome"):
        VARIABLES.delete(shop)
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    walk()
    save(acme, [DAY], active=False)
    with pytest.raises(VariableInUse):  # somebody is inside with the revision before
        VARIABLES.delete(shop)
    make_due()
    walk()
    VARIABLES.delete(shop)
    VARIABLES.delete(Variable.objects.get(name="free"))
    assert [entry[2] for entry in told("variable")] == ["Created."] * 3 + ["Deleted."] * 2
