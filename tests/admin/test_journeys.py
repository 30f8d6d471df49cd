"""Staff make and edit journeys; what they write is checked like everything else that makes a journey."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import Journey, JourneyRevision
from tests.admin.journey_form import ADD, CONDITION, EXITS, PRICEY, STEPS, make, said
from tests.admin.staff import staff_with
from tests.support.cases import each
from tests.support.factories import JourneyFactory


def edit(staff: Client, journey: Journey, **fields: Any) -> str:
    """Edits the journey; the page that answers."""
    return staff.post(page_url(journey), said(**fields), follow=True).content.decode()


def test_a_journey_is_made_with_its_rules_and_steps(staff: Client, acme: Workspace) -> None:
    make(
        staff,
        acme,
        trigger_type="event",
        event_name="signed_up",
        event_where=PRICEY,
        event_from_bridge="",
        max_entries_per_customer="3",
        allow_reenrollment="on",
        entry_conditions=CONDITION,
        steps=STEPS,
        exit_on=EXITS,
    )
    journey = Journey.objects.get()
    assert (journey.workspace, journey.key, journey.name) == (acme, "welcome", "Welcome")
    assert (journey.trigger_type, journey.event_name, journey.active) == ("event", "signed_up", True)
    assert (journey.max_entries_per_customer, journey.allow_reenrollment) == (3, True)
    assert (journey.entry_conditions, journey.event_where) == (CONDITION, PRICEY)
    assert not journey.event_from_bridge
    assert list(JourneyRevision.objects.values_list("journey", "number", "steps", "exit_on", "exit_events")) == [
        (journey.id, 1, STEPS, EXITS, ["bought"])
    ]


def test_a_journey_may_be_made_without_steps_and_the_answer_leads_to_it(staff: Client, acme: Workspace) -> None:
    page = make(staff, acme)
    assert f'href="{page_url(Journey.objects.get())}"' in page
    assert JourneyRevision.objects.get().steps == []


def test_other_steps_make_a_revision_and_the_same_ones_do_not(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS)
    edit(staff, journey, name="Renamed", steps=STEPS)
    journey.refresh_from_db()
    assert (journey.name, journey.revision) == ("Renamed", 1)
    other = [{"id": "wait", "type": "delay", "for": "P2D"}]
    edit(staff, journey, steps=other)
    journey.refresh_from_db()
    assert journey.revision == 2
    assert list(journey.revisions.order_by("number").values_list("number", "steps")) == [(1, STEPS), (2, other)]


def test_other_exit_conditions_make_a_revision_and_the_same_ones_do_not(staff: Client, acme: Workspace) -> None:
    make(staff, acme, steps=STEPS, exit_on=EXITS)
    journey = Journey.objects.get()
    for exit_on, revision in ((EXITS, 1), ("", 2), ([], 2)):
        edit(staff, journey, steps=STEPS, exit_on=exit_on)
        journey.refresh_from_db()
        assert journey.revision == revision


def test_the_form_shows_steps_and_exits_of_the_current_revision(
    staff: Client, acme: Workspace, rival: Workspace
) -> None:
    JourneyFactory.create(workspace=rival, revision=2, steps=[{"id": "theirs", "type": "delay", "for": "P9D"}])
    journey = JourneyFactory.create(workspace=acme, revision=2, steps=STEPS)
    JourneyRevision.objects.create(workspace=acme, journey=journey, number=1, steps=[])
    journey.revisions.filter(number=2).update(exit_on=EXITS)
    page = staff.get(page_url(journey)).content.decode()
    assert "&quot;for&quot;: &quot;P1D&quot;" in page
    assert "&quot;event&quot;: &quot;bought&quot;" in page
    assert "theirs" not in page


def test_who_may_only_look_sees_the_steps_and_exit_conditions_of_the_current_revision(acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, revision=2, steps=STEPS, entry_conditions=CONDITION)
    JourneyRevision.objects.create(workspace=acme, journey=journey, number=1, steps=[{"id": "old"}])
    journey.revisions.filter(number=2).update(exit_on=EXITS)
    blocks = re.findall(
        '<(?:pre|textarea)[^>]* class="engage-json"[^>]*>(.*?)</',
        staff_with("view_journey").get(page_url(journey)).content.decode(),
        re.DOTALL,
    )
    assert [json.loads(unescape(block)) for block in blocks] == [CONDITION, STEPS, EXITS]


def test_who_may_only_look_sees_that_a_journey_has_no_conditions(acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme)
    page = staff_with("view_journey").get(page_url(journey)).content.decode()
    for label in ("Event where", "Entry conditions"):
        assert re.search(rf"{label}</label>\s*(<[^>]*>\s*)*-\s*<", page)
    assert not re.search(r">\s*(null|None)\s*<", page)


def test_json_begins_with_id_and_type(staff: Client, acme: Workspace) -> None:
    body = [{"a": 1, "type": "gift", "id": 7}]
    steps = [{"url": "https://a.example", "type": "webhook", "id": "hello", "body": body}]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    for page in (page_url(journey), page_url(journey.revisions.get())):
        shown = unescape(staff.get(page).content.decode())
        assert (
            '[\n  {\n    "id": "hello",\n    "type": "webhook",\n    "url": "https://a.example",\n    "body": ['
            in shown
        )
        assert '{\n        "id": 7,\n        "type": "gift",\n        "a": 1\n      }' in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"steps": [*STEPS, {"id": "w", "type": "delay", "for": "soon"}]}, "steps[1].for must be an ISO 8601 duration"),
        ({"steps": [{"id": "w", "type": "dance"}]}, "steps[0].type must be one of"),
        ({"steps": {"id": "w"}}, "steps must be an array, but an object came."),
        ({"steps": '[{"id": "w",}]'}, "steps is not JSON: "),
        ({"steps": "[NaN]"}, "steps[0] is NaN, which is not JSON."),
        ({"steps": "[" * 100_000}, "steps is nested too deeply."),
        ({"steps": f"[{9 * '1'}{5000 * '0'}]"}, "steps holds a number that is too long."),
        ({"entry_conditions": "[1]"}, "entryConditions must be an object, but an array came."),
        ({"trigger_type": "event"}, "eventName is required where the trigger is event."),
        ({"exit_on": [{"event": ""}]}, "exitOn[0].event must not be blank."),
        ({"event_where": PRICEY}, "Leave this empty where the trigger type is API."),
        (
            {"trigger_type": "event", "event_name": "x", "event_where": {"all": []}},
            "where.all must hold at least one condition.",
        ),
        ({"event_name": "signed_up"}, "Leave this empty where the trigger type is API."),
        ({"max_entries_per_customer": "-1"}, "Ensure this value is greater than or equal to 1."),
        ({"max_entries_per_customer": "0"}, "Ensure this value is greater than or equal to 1."),
        ({"name": ""}, "This field is required."),
    ],
)
def test_a_journey_that_cannot_be_is_refused_with_the_place_and_nothing_is_saved(
    staff: Client, acme: Workspace, fields: dict[str, Any], why: str
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS, key="old")
    before = list(Journey.objects.values())
    assert why in make(staff, acme, **fields)
    assert why in edit(staff, journey, **{"name": "Renamed", "steps": STEPS, **fields})
    assert list(Journey.objects.values()) == before
    assert JourneyRevision.objects.count() == 1


def test_the_refusal_stands_at_its_field(staff: Client, acme: Workspace) -> None:
    for field in ("steps", "exit_on"):
        answer = staff.post(ADD, said(workspace=acme.id, key="welcome", **{field: [1]}))
        assert list(answer.context["adminform"].form.errors) == [field]
    fields = said(workspace=acme.id, key="welcome", steps="[", exit_on=[1], trigger_type="event", event_name="x")
    assert list(staff.post(ADD, fields).context["adminform"].form.errors) == ["steps", "exit_on"]
    fields = said(workspace=acme.id, key="welcome", trigger_type="other", event_name="x")
    assert list(staff.post(ADD, fields).context["adminform"].form.errors) == ["trigger_type"]


def test_all_that_is_wrong_is_said_at_once(staff: Client, acme: Workspace) -> None:
    wrong = {"entry_conditions": {"all": []}, "event_where": {"all": []}, "steps": [1], "exit_on": [1]}
    fields = said(workspace=acme.id, key="welcome", trigger_type="event", **wrong)
    errors = staff.post(ADD, fields).context["adminform"].form.errors
    assert sorted(errors) == ["entry_conditions", "event_name", "event_where", "exit_on", "steps"]
    assert all(len(messages) == 1 for messages in errors.values())


@each("missing", ["workspace", "name", "key"])
def test_what_else_is_missing_hides_no_refusal(staff: Client, acme: Workspace, missing: str) -> None:
    whole = said(workspace=acme.id, key="welcome", trigger_type="event")
    errors = staff.post(ADD, {**whole, missing: ""}).context["adminform"].form.errors
    assert errors == {
        missing: ["This field is required."],
        "event_name": ["eventName is required where the trigger is event."],
    }


@pytest.mark.slow
def test_a_field_that_was_refused_is_not_refused_again_for_what_it_lacks(staff: Client, acme: Workspace) -> None:
    too_few = {"event_name": "x", "max_entries_per_customer": "0"}
    for fields in ({"event_name": "x" * 256}, {"event_name": "x", "event_where": "{"}, {"steps": "["}, too_few):
        answer = staff.post(ADD, said(**{"workspace": acme.id, "key": "welcome", "trigger_type": "event", **fields}))
        errors = answer.context["adminform"].form.errors
        assert all(len(messages) == 1 for messages in errors.values())


def test_the_examples_of_the_form_can_be_saved(staff: Client, acme: Workspace) -> None:
    form = staff.get(ADD).context["adminform"].form
    names = ("exit_on", "entry_conditions", "event_where", "guards")
    fields = {name: form.fields[name].widget.attrs["placeholder"] for name in names}
    fields["steps"] = re.search("such as (.+?);", form.fields["steps"].help_text)[1]  # type: ignore[index]
    make(staff, acme, trigger_type="event", event_name="bought", **fields)
    journey = Journey.objects.get()
    assert (journey.event_where, (journey.guards or {})["of"]) == (PRICEY, 50)
    assert len(JourneyRevision.objects.get().steps) == 2


def test_what_is_wrong_stands_at_the_top_too(staff: Client, acme: Workspace) -> None:
    page = make(staff, acme, name="", steps=[{"id": "w", "type": "dance"}])
    top, _, rest = page.partition("<fieldset")
    for why in ('href="#id_name">Name</a>: This field is required.', "Steps</a>: steps[0].type must be one of"):
        assert why in top
        assert why not in rest
    assert "steps[0].type must be one of" in rest
    assert "engage-refused" not in staff.get(ADD).content.decode()


@each("key", ["taken", "No Key"])
def test_a_key_that_is_taken_or_malformed_is_refused(staff: Client, acme: Workspace, key: str) -> None:
    journey = JourneyFactory.create(workspace=acme, key="taken", name="Old")
    answer = staff.post(ADD, said(workspace=acme.id, key=key))
    assert answer.context["adminform"].form.errors
    journey.refresh_from_db()
    assert journey.name == "Old"
    assert Journey.objects.count() == 1


def test_two_workspaces_may_use_the_same_key(staff: Client, acme: Workspace, rival: Workspace) -> None:
    make(staff, acme)
    make(staff, rival)
    assert Journey.objects.filter(key="welcome").count() == 2


def test_a_journey_keeps_its_workspace_and_key(staff: Client, acme: Workspace, rival: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, key="old")
    edit(staff, journey, workspace=rival.id, key="new")
    journey.refresh_from_db()
    assert (journey.workspace, journey.key) == (acme, "old")
    assert Journey.objects.count() == 1


def test_a_journey_with_steps_that_cannot_be_read_any_more_can_be_switched_off(staff: Client, acme: Workspace) -> None:
    fly = [{"id": "fly", "type": "fly"}]
    journey = JourneyFactory.create(workspace=acme, steps=fly)
    assert "steps[0].type must be one of" in unescape(edit(staff, journey, steps=fly))
    edit(staff, journey, steps=fly, active="")
    journey.refresh_from_db()
    assert journey.active is False
    assert list(journey.revisions.values_list("steps", flat=True)) == [fly]


def test_a_journey_with_steps_of_before_a_rule_can_be_edited(staff: Client, acme: Workspace) -> None:
    old = [{"id": "out", "type": "exit", "reason": "Enough.", "next": "nowhere"}]
    journey = JourneyFactory.create(workspace=acme, steps=old)
    edit(staff, journey, steps=old, name="Renamed")
    journey.refresh_from_db()
    assert journey.name == "Renamed"


def test_a_journey_is_switched_off_but_not_deleted(staff: Client, journey: Journey) -> None:
    edit(staff, journey, active="")
    journey.refresh_from_db()
    assert journey.active is False
    assert staff.post(page_url(journey).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403


def names_in(page: str) -> list[str]:
    """The names of the JSON that the form shows as the steps, in order."""
    text = unescape(page.partition('name="steps"')[2].partition("</textarea>")[0].partition(">")[2])
    return re.findall(r'"(\w+)":', text)


def test_the_names_of_steps_stay_in_the_order_in_which_they_were_written(staff: Client, acme: Workspace) -> None:
    body = '{"zip": 1, "a": {"y": 1, "x": 2}}'
    written = f'[{{"url": "https://a.example", "type": "webhook", "body": {body}, "id": "call"}}]'
    names = ["url", "type", "body", "zip", "a", "y", "x", "id"]
    make(staff, acme, steps=written, exit_on='[{"where": null, "event": "bought"}]')
    journey = Journey.objects.get()
    assert names_in(staff.get(page_url(journey)).content.decode()) == names
    assert names_in(edit(staff, journey, name="Renamed", steps=written, exit_on=EXITS)) == []  # back in the list
    journey.refresh_from_db()
    assert (journey.name, journey.revision) == ("Renamed", 2)
    assert names_in(staff.get(page_url(journey)).content.decode()) == names
    looking = staff_with("view_journey").get(page_url(journey)).content.decode()
    block = unescape(looking.partition('<pre class="engage-json">')[2].partition("</pre>")[0])
    assert re.findall(r'"(\w+)":', block) == names


def test_another_order_is_kept_and_makes_no_revision(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS)
    shown = names_in(staff.get(page_url(journey)).content.decode())
    assert shown == ["id", "type", "for"]  # of an earlier version, which kept no order
    edit(staff, journey, name="Renamed", steps=STEPS)
    assert JourneyRevision.objects.get().key_order == []
    edit(staff, journey, steps='[{"for": "P1D", "type": "delay", "id": "wait"}]')
    assert names_in(staff.get(page_url(journey)).content.decode()) == ["for", "type", "id"]
    journey.refresh_from_db()
    assert journey.revision == 1
