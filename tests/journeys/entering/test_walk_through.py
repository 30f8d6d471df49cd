"""`manage.py walk_through`: what a journey would do to a customer, as a timeline."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Journey
from tests.support.cases import each
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.tables import everything
from tests.support.terminals import HOSTILE, SHOWN, commands_in

AT = "2026-11-20T12:00:00Z"
NOT_MET = "conditions_not_met: The customer did not meet the journey's entry conditions."
STEPS: list[dict[str, Any]] = [
    {"id": "note", "type": "update_profile", "attributes": {"plan": "{{ api.payload.plan }}"}},
    {"id": "tell", "type": "track_event", "eventName": "noted", "eventProperties": {"plan": "{{ customer.plan }}"}},
    {"id": "day", "type": "delay", "for": "P1D"},
    {
        "id": "call",
        "type": "webhook",
        "url": "https://shop.example/people/{{ customer.external_id }}",
        "headers": {"X-Plan": "{{ customer.plan }}"},
        "body": {"name": "{{ customer.first_name }}"},
    },
    {"id": "out", "type": "exit", "reason": "Enough."},
]


@pytest.fixture
def journey(acme: Workspace, rival: Workspace) -> Journey:
    JourneyFactory.create(workspace=rival, key="welcome")
    return JourneyFactory.create(workspace=acme, key="welcome", steps=STEPS)


@pytest.fixture
def ada(acme: Workspace, rival: Workspace) -> Customer:
    CustomerFactory.create(workspace=rival, external_id="ada")
    return CustomerFactory.create(workspace=acme, external_id="ada")


@pytest.fixture
def plan(tmp_path: Path) -> str:
    return written(tmp_path, b'{"plan": "pro"}')


def written(folder: Path, text: bytes) -> str:
    file = folder / "payload.json"
    file.write_bytes(text)
    return str(file)


def walked(*arguments: str) -> str:
    """What the command prints, after checking that it changes nothing."""
    before, out = everything(), StringIO()
    call_command("walk_through", *arguments, stdout=out)
    assert everything() == before
    return out.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("walk_through", *arguments)
    return str(refused.value)


def test_the_entry_is_decided_as_of_when_the_walk_begins(acme: Workspace, ada: Customer) -> None:
    on_trial = {"field": "customer.endsAt", "op": "after", "value": {"now": "PT0S"}}
    journey = JourneyFactory.create(workspace=acme, entry_conditions=on_trial)
    ada.attributes = {"endsAt": "2100-01-01"}
    ada.save()
    for at, entry in (("2099-12-31", "enrolled"), ("2100-01-02", "conditions_not_met")):
        assert f"Entry     {entry}: " in walked(journey.id, "--customer", "ada", "--at", at)


def test_the_timeline_says_when_which_step_would_do_what(journey: Journey, ada: Customer, plan: str) -> None:
    printed = walked(journey.id, "--customer", "ada", "--payload", plan, "--at", AT)
    assert (
        printed
        == f"""\
Journey   welcome, revision 1 ({journey.id})
Customer  {ada.id} (ada)
Entry     enrolled: The customer met the entry rules.

2026-11-20 12:00:00   note (update_profile) done: Wrote plan.
                      plan = "pro"
2026-11-20 12:00:00   tell (track_event) done: Recorded the event 'noted'.
                      noted {{"plan": "pro"}}
2026-11-20 12:00:00   day (delay) waiting: Waits until 2026-11-21T12:00:00Z.
2026-11-21 12:00:00   day (delay) done: The wait is over.
2026-11-21 12:00:00   call (webhook) waiting: Sends POST to shop.example.
                      POST https://shop.example/people/ada
                      Content-Type: application/json
                      X-Plan: ***
                      {{"name": ""}}
                      without a value: customer.first_name
2026-11-21 12:00:00   call (webhook) done: Assumed: the webhook succeeds.
2026-11-21 12:00:00   out (exit) done: Enough.

End       exited: Enough.
"""
    )


def test_whatever_a_customer_is_called_commands_no_terminal(acme: Workspace, tmp_path: Path) -> None:
    CustomerFactory.create(workspace=acme, external_id=HOSTILE, email=None, attributes={HOSTILE: HOSTILE})
    named = "{{ customer.external_id }}"
    steps: list[dict[str, Any]] = [
        {"id": "note", "type": "update_profile", "attributes": {HOSTILE: named}},
        {"id": "tell", "type": "track_event", "eventName": HOSTILE, "eventProperties": {"a": named, "b": 90 * "b"}},
        {"id": "call", "type": "webhook", "url": "https://shop.example/", "body": {HOSTILE: [named, 90 * "b"]}},
    ]
    JourneyFactory.create(workspace=acme, key="welcome", name=HOSTILE, steps=steps)
    printed = walked("welcome", "--customer", HOSTILE, "--at", AT)
    assert commands_in(printed) == set()
    assert f"({SHOWN})\n" in printed
    assert len([line for line in printed.splitlines() if line.startswith("End ")]) == 1
    assert commands_in(refusal("welcome", "--customer", HOSTILE + "?")) == set()


def test_journey_and_customer_go_by_their_id_or_by_their_own_name(journey: Journey, ada: Customer) -> None:
    by_id = walked(journey.id, "--customer", ada.id, "--at", AT)
    assert walked("welcome", "--customer", "ada", "--workspace", "acme", "--at", AT) == by_id
    CustomerFactory.create(workspace=journey.workspace, external_id=ada.id)
    JourneyFactory.create(workspace=journey.workspace, key=journey.id)
    assert walked(journey.id, "--customer", ada.id, "--at", AT) == by_id


def test_it_can_be_read_by_programs(journey: Journey, ada: Customer, plan: str) -> None:
    printed = json.loads(walked(journey.id, "--customer", "ada", "--payload", plan, "--at", AT, "--json"))
    assert (printed["workspaceId"], printed["journeyId"], printed["revision"]) == (ada.workspace_id, journey.id, 1)
    assert (printed["startsJourney"], printed["entry"]["customerId"]) == (True, ada.id)
    assert printed["entry"]["result"] == "enrolled"
    assert [step["stepId"] for step in printed["rehearsal"]["steps"]] == [
        "note", "tell", "day", "day", "call", "call", "out",
    ]  # fmt: skip
    assert printed["rehearsal"]["end"] == {"state": "exited", "reason": "Enough."}


@each(
    "fields, result",
    [
        ({"active": False}, "journey_inactive: The journey was switched off before the job was decided."),
        (
            {"entry_conditions": {"field": "customer.plan", "op": "eq", "value": "pro"}},
            f'{NOT_MET}\n          customer.plan has no value, wanted "pro"',
        ),
    ],
)
def test_who_would_not_enter_is_told_why_and_what_would_follow(
    acme: Workspace, ada: Customer, fields: dict[str, Any], result: str
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS, **fields)
    printed = walked(journey.id, "--customer", "ada")
    assert f"Entry     {result}\n\nThey would not enter. If they did:\n" in printed
    assert "note (update_profile) done" in printed


@pytest.mark.parametrize(
    ("plan_bought", "starts", "result"),
    [("pro", True, "enrolled"), ("team", False, "enrolled"), ("free", False, "conditions_not_met")],
)
def test_in_an_event_journey_the_payload_is_the_event(
    acme: Workspace, ada: Customer, tmp_path: Path, plan_bought: str, starts: bool, result: str
) -> None:
    steps = [
        {"id": "note", "type": "update_profile", "attributes": {"last": "{{ event.name }} {{ event.properties.plan }}"}}
    ]
    journey = JourneyFactory.create(
        workspace=acme,
        trigger_type="event",
        event_name="bought",
        event_where={"field": "event.properties.plan", "op": "eq", "value": "pro"},
        entry_conditions={
            "all": [
                {"field": "event.name", "op": "eq", "value": "bought"},
                {"field": "event.properties.plan", "op": "ne", "value": "free"},
            ]
        },
        steps=steps,
    )
    options = [
        journey.id,
        "--customer",
        "ada",
        "--payload",
        written(tmp_path, json.dumps({"plan": plan_bought}).encode()),
    ]
    printed = json.loads(walked(*options, "--json"))
    assert printed["startsJourney"] is starts
    assert printed["entry"]["result"] == result
    assert printed["rehearsal"]["steps"][0]["writes"] == {"last": f"bought {plan_bought}"}
    told = walked(*options)
    assert ("its `where` does not hold" in told) is not starts
    assert ("They would not enter." in told) is not starts


def test_a_form_is_printed_by_its_names(acme: Workspace, ada: Customer) -> None:
    form = {"To": "+49 30", "Body": "Hello & {{ api.payload.nobody }}", "tag": ["a", 1], "empty": ""}
    step = {"id": "text", "type": "webhook", "url": "https://sms.example/", "form": form}
    journey = JourneyFactory.create(workspace=acme, steps=[step])
    *_, printed = walked(journey.id, "--customer", "ada").partition("application/x-www-form-urlencoded")
    lines = [line.strip() for line in printed.splitlines()]
    assert {*lines[1:6]} == {'To = "+49 30"', 'Body = "Hello & "', 'tag = "a"', 'tag = "1"', 'empty = ""'}


def test_a_name_that_several_workspaces_use_needs_the_workspace(journey: Journey, ada: Customer) -> None:
    message = refusal("welcome", "--customer", "ada")
    assert message == "Several workspaces have a journey 'welcome': acme, rival. Say which one with --workspace KEY."


@each(
    "arguments, message",
    [
        (["nope", "--customer", "ada"], "There is no journey with the id or key 'nope'."),
        (["6" * 24, "--customer", "ada"], f"There is no journey with the id or key '{'6' * 24}'."),
        (
            ["welcome", "--customer", "ada", "--workspace", "none"],
            "There is no journey with the id or key 'welcome' in the workspace 'none'.",
        ),
        (
            ["welcome", "--workspace", "acme", "--customer", "bob"],
            "This workspace has no customer with this customerId or external_id, 'bob'.",
        ),
        (
            ["welcome", "--workspace", "acme", "--customer", "ada", "--at", "soon"],
            "--at must be a time in ISO 8601 such as 2026-11-20T12:00:00Z, not 'soon'.",
        ),
        (
            ["welcome", "--workspace", "acme", "--customer", "ada", "--at", "0001-01-01T00:00:00+14:00"],
            "--at must be a time in ISO 8601 such as 2026-11-20T12:00:00Z, not '0001-01-01T00:00:00+14:00'.",
        ),
        (
            ["welcome", "--workspace", "acme", "--customer", "ada", "--at", "9999-12-31T12:00:00Z"],
            "--at must be a time in ISO 8601 such as 2026-11-20T12:00:00Z, not '9999-12-31T12:00:00Z'.",
        ),
        (
            ["welcome", "--workspace", "acme", "--customer", "ada", "--payload", "/none.json"],
            "/none.json cannot be read: No such file or directory.",
        ),
        (
            ["welcome", "--workspace", "acme", "--customer", "ada", "--payload", ""],
            "'' cannot be read: Is a directory.",
        ),
        (
            ["welcome", "--workspace", "acme", "--customer", "ada", "--at", ""],
            "--at must be a time in ISO 8601 such as 2026-11-20T12:00:00Z, not ''.",
        ),
    ],
)
def test_what_is_not_there_is_named(journey: Journey, ada: Customer, arguments: list[str], message: str) -> None:
    assert refusal(*arguments) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"plan": "pro",}', "payload.json is not JSON: "),
        (b"[1]", "payload.json must be a JSON object, but an array came."),
        (b'{"a": {"b": "\\u0000"}}', "a.b holds a NUL"),
        (b'{"a": ' * 11 + b"1" + b"}" * 11, "payload is nested more than 10 deep."),
        (b'{"a": "' + b"x" * 65536 + b'"}', "payload is 65544 bytes of JSON; its maximum is 65536."),
    ],
)
def test_a_bad_payload_is_refused_with_the_place(
    journey: Journey, ada: Customer, tmp_path: Path, text: bytes, message: str
) -> None:
    assert message in refusal(journey.id, "--customer", "ada", "--payload", written(tmp_path, text))


def test_the_customer_of_another_workspace_is_not_found(journey: Journey, rival: Workspace) -> None:
    stranger = CustomerFactory.create(workspace=rival)
    assert "has no customer" in refusal(journey.id, "--customer", stranger.id)


def test_the_journey_of_another_workspace_is_not_found(journey: Journey, ada: Customer) -> None:
    message = refusal(journey.id, "--workspace", "rival", "--customer", ada.id)
    assert message == f"There is no journey with the id or key {journey.id!r} in the workspace 'rival'."
