"""Making and changing journeys."""

import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from engage.models import Workspace
from journeys.journey.authoring import InvalidJourney, SavedJourney, save_journey
from journeys.models import Journey, JourneyRevision
from journeys.steps.webhook_targets import TargetRules
from tests.support.cases import each
from tests.support.factories import JourneyFactory, WorkspaceFactory
from tests.support.simultaneous import all_at_once

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 21, 12, tzinfo=UTC)
A_DAY = [{"id": "wait", "type": "delay", "for": "P1D"}]
TWO_DAYS = [{"id": "wait", "type": "delay", "for": "P2D"}]
EXITS = [
    {"event": "bought"},
    {"if": {"field": "customer.plan", "op": "exists"}},
    {"event": "again"},
    {"event": "bought"},
]
PRICEY = {"field": "event.properties.price", "op": "gt", "value": 10}
CONDITIONS = {"field": "customer.plan", "op": "eq", "value": "pro"}


def save(workspace: Workspace, key: str = "welcome", now: datetime = NOW, **changes: Any) -> SavedJourney:
    return save_journey(workspace=workspace, key=key, now=now, **changes)


def revisions_of(journey: Journey) -> list[tuple[int, object]]:
    return list(journey.revisions.order_by("number").values_list("number", "steps"))


def ways_of(journey: Journey) -> list[tuple[int, object, list[str]]]:
    """Each revision's exit conditions, and the names of the events among them."""
    return list(journey.revisions.order_by("number").values_list("number", "exit_on", "exit_events"))


def row_of(journey: Journey) -> dict[str, Any]:
    return dict(Journey.objects.values().get(id=journey.id))


def test_a_new_journey_has_the_defaults_and_a_first_revision_without_steps(acme: Workspace) -> None:
    saved = save(acme)
    assert saved.outcome == "created"
    row = row_of(saved.journey)
    assert {name: row[name] for name in row if not name.endswith("_at") and name != "key_orders"} == {
        "id": saved.journey.id,
        "workspace_id": acme.id,
        "key": "welcome",
        "name": "welcome",
        "trigger_type": "api",
        "topic": None,
        "on_opt_out": "exit",
        "event_name": "",
        "active": True,
        "max_entries_per_customer": None,
        "allow_reenrollment": False,
        "concurrent_entrances": False,
        "entry_conditions": None,
        "event_where": None,
        "event_from_bridge": True,
        "guards": None,
        "payload_schema": None,
        "goals": None,
        "hold_out": None,
        "managed_by": None,
        "held_by": "",
        "held_because": "",
        "per_minute": None,
        "aborted_serial": None,
        "moves_to": None,
        "revision": 1,
    }
    assert revisions_of(saved.journey) == [(1, [])]


def test_everything_said_of_a_new_journey_is_kept(acme: Workspace) -> None:
    journey = save(
        acme,
        name="Won back",
        trigger_type="event",
        event_name="subscription_renewed",
        event_where=PRICEY,
        active=False,
        max_entries_per_customer=3,
        allow_reenrollment=True,
        entry_conditions=CONDITIONS,
        steps=A_DAY,
        exit_on=EXITS,
    ).journey
    row = row_of(journey)
    assert (row["name"], row["trigger_type"], row["event_name"]) == ("Won back", "event", "subscription_renewed")
    assert (row["active"], row["max_entries_per_customer"], row["allow_reenrollment"]) == (False, 3, True)
    assert (row["entry_conditions"], row["event_where"]) == (CONDITIONS, PRICEY)
    assert revisions_of(journey) == [(1, A_DAY)]
    assert ways_of(journey) == [(1, EXITS, ["again", "bought"])]


def test_what_is_not_said_stays_as_it_is(acme: Workspace) -> None:
    before = row_of(save(acme, name="Hello", max_entries_per_customer=3, entry_conditions=CONDITIONS).journey)
    saved = save(acme, now=LATER, active=False)
    assert saved.outcome == "changed"
    assert row_of(saved.journey) == {**before, "active": False, "updated_at": LATER}


def test_saving_the_same_again_writes_nothing(acme: Workspace) -> None:
    said: dict[str, Any] = {"name": "Hello", "entry_conditions": CONDITIONS, "steps": A_DAY, "exit_on": EXITS}
    before = row_of(save(acme, **said).journey)
    saved = save(acme, now=LATER, **said)
    assert saved.outcome == "unchanged"
    assert row_of(saved.journey) == before
    assert revisions_of(saved.journey) == [(1, A_DAY)]


def test_other_steps_make_a_new_revision_and_leave_the_old_one_as_it_was(acme: Workspace) -> None:
    save(acme, steps=A_DAY)
    saved = save(acme, now=LATER, steps=TWO_DAYS)
    assert saved.outcome == "changed"
    assert row_of(saved.journey)["revision"] == 2
    assert revisions_of(saved.journey) == [(1, A_DAY), (2, TWO_DAYS)]


def test_true_is_another_value_than_1(acme: Workspace) -> None:
    def said(value: object) -> dict[str, Any]:
        return {
            "steps": [{"id": "note", "type": "update_profile", "attributes": {"vip": value}}],
            "entry_conditions": {"field": "customer.vip", "op": "eq", "value": value},
        }

    save(acme, **said(1))
    saved = save(acme, **said(True))
    assert [json.dumps(steps).count("true") for _, steps in revisions_of(saved.journey)] == [0, 1]
    assert row_of(saved.journey)["entry_conditions"]["value"] is True


def test_steps_that_are_not_said_stay(acme: Workspace) -> None:
    save(acme, steps=A_DAY)
    saved = save(acme, name="Hello")
    assert revisions_of(saved.journey) == [(1, A_DAY)]


def test_other_exit_conditions_make_a_new_revision_with_the_same_steps(acme: Workspace) -> None:
    save(acme, steps=A_DAY)
    assert save(acme, exit_on=EXITS).outcome == "changed"
    saved = save(acme, exit_on=[{"event": "left"}])
    assert revisions_of(saved.journey) == [(1, A_DAY), (2, A_DAY), (3, A_DAY)]
    assert ways_of(saved.journey) == [(1, [], []), (2, EXITS, ["again", "bought"]), (3, [{"event": "left"}], ["left"])]


def test_exit_conditions_that_are_not_said_stay_also_with_other_steps(acme: Workspace) -> None:
    save(acme, steps=A_DAY, exit_on=EXITS)
    saved = save(acme, steps=TWO_DAYS)
    assert ways_of(saved.journey) == [(number, EXITS, ["again", "bought"]) for number in (1, 2)]


@each("none", [None, []])
def test_exit_conditions_can_be_taken_away(acme: Workspace, none: object) -> None:
    save(acme, exit_on=EXITS)
    saved = save(acme, exit_on=none)
    assert ways_of(saved.journey)[1:] == [(2, [], [])]
    assert save(acme, exit_on=none).outcome == "unchanged"


def test_a_journey_that_goes_over_to_the_api_loses_its_event(acme: Workspace) -> None:
    save(acme, trigger_type="event", event_name="renewed", event_where=PRICEY)
    row = row_of(save(acme, trigger_type="api").journey)
    assert (row["event_name"], row["event_where"]) == ("", None)


def test_conditions_on_the_event_keep_a_journey_from_going_over_to_the_api(acme: Workspace) -> None:
    on_event = {"field": "event.properties.plan", "op": "exists"}
    save(acme, trigger_type="event", event_name="renewed", entry_conditions=on_event)
    with pytest.raises(InvalidJourney, match=r"entryConditions\.field is 'event\.properties\.plan'"):
        save(acme, trigger_type="api")
    assert Journey.objects.get().trigger_type == "event"


# `next` of an exit step leads nowhere: nobody minded before steps were held to it, and it can still be walked.
OF_AN_OLD_RULE = [{"id": "out", "type": "exit", "reason": "Enough.", "next": "nowhere"}]
# As a newer version may have saved them.
OF_ANOTHER_VERSION = [{"id": "fly", "type": "fly"}]
UNREADABLE: dict[str, Any] = {"field": "customer.plan", "op": "resembles"}


@pytest.fixture
def outdated(acme: Workspace) -> Journey:
    """A journey that was saved before a rule of today."""
    return JourneyFactory.create(workspace=acme, key="old", steps=OF_AN_OLD_RULE)


def test_steps_that_were_saved_before_a_rule_do_not_keep_the_journey_from_being_changed(outdated: Journey) -> None:
    saved = save(outdated.workspace, "old", max_entries_per_customer=3, exit_on=EXITS, steps=OF_AN_OLD_RULE)
    assert saved.outcome == "changed"
    assert revisions_of(outdated) == [(1, OF_AN_OLD_RULE), (2, OF_AN_OLD_RULE)]


def test_other_steps_keep_to_the_rules_of_today(outdated: Journey) -> None:
    with pytest.raises(InvalidJourney, match=r"steps\[1\]\.next is 'nowhere'"):
        save(outdated.workspace, "old", steps=[*A_DAY, *OF_AN_OLD_RULE])
    with pytest.raises(InvalidJourney, match=r"steps\[0\]\.next is 'nowhere'"):
        save(outdated.workspace, "new", steps=OF_AN_OLD_RULE)
    assert revisions_of(outdated) == [(1, OF_AN_OLD_RULE)]


def test_a_journey_can_be_switched_off_whatever_has_become_of_it(acme: Workspace) -> None:
    JourneyFactory.create(
        workspace=acme, key="old", trigger_type="event", event_name="renewed", event_where=UNREADABLE,
        entry_conditions=UNREADABLE, steps=OF_ANOTHER_VERSION,
    )  # fmt: skip
    JourneyRevision.objects.update(exit_on=[{"if": UNREADABLE}])
    with pytest.raises(InvalidJourney, match="where"):
        save(acme, "old", name="Old")
    assert save(acme, "old", active=False).journey.active is False
    with pytest.raises(InvalidJourney, match="where"):
        save(acme, "old", active=True)
    with pytest.raises(InvalidJourney, match=r"steps\[0\]\.type must be one of"):
        save(acme, "old", steps=[{"id": "swim", "type": "swim"}])
    assert row_of(Journey.objects.get())["active"] is False


def test_a_journey_that_is_off_is_held_to_conditions_on_how_it_is_entered(acme: Workspace) -> None:
    on_event = {"field": "event.properties.plan", "op": "exists"}
    save(acme, trigger_type="event", event_name="renewed", entry_conditions=on_event, active=False)
    with pytest.raises(InvalidJourney, match="entryConditions"):
        save(acme, trigger_type="api")


def test_null_takes_a_rule_away(acme: Workspace) -> None:
    event: dict[str, Any] = {"trigger_type": "event", "event_name": "renewed"}
    save(acme, **event, max_entries_per_customer=3, entry_conditions=CONDITIONS, event_where=PRICEY)
    row = row_of(save(acme, max_entries_per_customer=None, entry_conditions=None, event_where=None).journey)
    assert (row["max_entries_per_customer"], row["entry_conditions"], row["event_where"]) == (None, None, None)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"key": "Wel come"}, "key", "key: Use lower-case letters, digits, - and _."),
    ({"key": "w" * 101}, "key", "key must be at most 100 characters long, not 101."),
    ({"name": ""}, "name", "name must not be blank."),
    ({"name": "n" * 201}, "name", "name must be at most 200 characters long, not 201."),
    ({"trigger_type": "cron"}, "trigger_type", "trigger must be one of api, event, not 'cron'."),
    ({"trigger_type": "event"}, "event_name", "eventName is required where the trigger is event."),
    ({"trigger_type": "event", "event_name": " "}, "event_name", "eventName is required where the trigger is event."),
    ({"event_name": "renewed"}, "event_name", "eventName must be null where the trigger is api."),
    (
        {"trigger_type": "api", "event_name": "renewed"},
        "event_name",
        "eventName must be null where the trigger is api.",
    ),
    (
        {"max_entries_per_customer": 0},
        "max_entries_per_customer",
        "maxEntriesPerCustomer must be at least 1.",
    ),
    (
        {"max_entries_per_customer": 2**31},
        "max_entries_per_customer",
        "maxEntriesPerCustomer must be at most 2147483647.",
    ),
    ({"entry_conditions": 7}, "entry_conditions", "entryConditions must be an object, but a number came."),
    (
        {"entry_conditions": {"all": [CONDITIONS, {"field": "api.payload.n", "op": "is", "value": 1}]}},
        "entry_conditions",
        "entryConditions.all[1].op must be one of ",
    ),
    (
        {"entry_conditions": {"field": "event.properties.plan", "op": "exists"}},
        "entry_conditions",
        "entryConditions.field is 'event.properties.plan', which is no field here; ",
    ),
    ({"steps": [{**A_DAY[0], "for": "P1M"}]}, "steps", "steps[0].for must not count in years or months, "),
    ({"steps": None}, "steps", "steps must be an array, but null came."),
    ({"exit_on": {}}, "exit_on", "exitOn must be an array, but an object came."),
    (
        {"exit_on": [EXITS[0], {"event": "a", "where": {"field": "plan", "op": "exists"}}]},
        "exit_on",
        "exitOn[1].where.field is ",
    ),
    ({"event_where": PRICEY}, "event_where", "where must be null where the trigger is api."),
    ({"event_from_bridge": False}, "event_from_bridge", "fromBridge must be null or true where the trigger is api."),
    ({"exit_on": [{"event": "a", "fromBridge": "no"}]}, "exit_on", "exitOn[0].fromBridge must be true or false"),
    (
        {"trigger_type": "event", "event_name": "renewed", "event_where": {"any": [PRICEY, CONDITIONS]}},
        "event_where",
        "where.any[1].field is 'customer.plan', which is no field here; a field is event.name, ",
    ),
]


@each("said, field, message", REFUSED)
def test_a_new_journey_that_cannot_be_is_refused_and_not_made(
    acme: Workspace, said: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(InvalidJourney) as refused:
        save(acme, **said)
    assert refused.value.field == field
    assert refused.value.message.startswith(message)
    assert not Journey.objects.exists()
    assert not JourneyRevision.objects.exists()


@each("said, field, message", [case for case in REFUSED if "key" not in case[0]])
def test_a_change_that_cannot_be_is_refused_and_changes_nothing(
    acme: Workspace, said: dict[str, Any], field: str, message: str
) -> None:
    before = row_of(save(acme, steps=A_DAY).journey)
    with pytest.raises(InvalidJourney) as refused:
        save(acme, now=LATER, **{"name": "Other", **said})
    assert (refused.value.field, refused.value.message.startswith(message)) == (field, True)
    assert list(Journey.objects.values()) == [before]
    assert JourneyRevision.objects.count() == 1


def test_two_workspaces_have_journeys_of_one_key(acme: Workspace, rival: Workspace) -> None:
    theirs = JourneyFactory.create(workspace=rival, key="welcome", steps=TWO_DAYS)
    before = row_of(theirs)
    saved = save(acme, name="Ours", steps=A_DAY)
    assert saved.outcome == "created"
    assert (row_of(theirs), revisions_of(theirs)) == (before, [(1, TWO_DAYS)])


@pytest.mark.django_db(transaction=True)
def test_the_same_journey_made_by_many_at_once_is_made_once() -> None:
    workspace = WorkspaceFactory.create()
    saved = all_at_once([lambda: save(workspace, steps=A_DAY)] * 8)
    assert sorted(one.outcome for one in saved) == ["created", *["unchanged"] * 7]
    assert revisions_of(Journey.objects.get()) == [(1, A_DAY)]


@pytest.mark.django_db(transaction=True)
def test_steps_changed_by_many_at_once_make_a_revision_each() -> None:
    workspace = WorkspaceFactory.create()
    journey = save(workspace).journey
    all_at_once([partial(save, workspace, steps=[{**A_DAY[0], "for": f"PT{number}S"}]) for number in range(8)])
    assert [number for number, _ in revisions_of(journey)] == list(range(1, 10))
    assert row_of(journey)["revision"] == 9


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://mail.example/", "The URL must begin with https://; webhooks are not sent in the clear."),
        ("https://mail.example:25/", "Webhooks are not sent to port 25."),
    ],
)
def test_a_webhook_that_is_never_sent_is_refused(acme: Workspace, settings: Settings, url: str, reason: str) -> None:
    settings.WEBHOOK_TARGETS = TargetRules(http=False)
    with pytest.raises(InvalidJourney) as refused:
        save_journey(
            workspace=acme, key="new", now=timezone.now(), steps=[{"id": "tell", "type": "webhook", "url": url}]
        )
    assert refused.value.message == f"steps[0].url cannot be called: {reason}"
    assert not Journey.objects.exists()
