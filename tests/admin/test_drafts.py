"""A journey's definition is checked and drawn while it is written, and nothing is saved."""

import json
from html import unescape
from typing import Any

from django.test import Client
from django.utils import timezone

from customers.contact.topics import TOPICS
from engage.models import Workspace
from journeys.connection.resource import CONNECTIONS
from journeys.models import Journey, JourneyRevision
from tests.admin.drawn import drawing_in, node_in, ways_of
from tests.admin.journey_form import ADD, STEPS, make, said
from tests.admin.staff import staff_with
from tests.bridge.in_app.deliveries import offer
from tests.support.cases import each
from tests.support.factories import JourneyFactory

NEW = "/admin/journeys/journey/draft/"


def of(journey: Journey) -> str:
    return f"/admin/journeys/journey/{journey.id}/draft/"


def drafted(staff: Client, url: str = NEW, **fields: Any) -> Any:
    answer = staff.post(url, said(**fields))
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_what_is_written_is_drawn_and_not_saved(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS)
    told = drafted(staff, of(journey), steps=[*STEPS, {"id": "more", "type": "delay", "for": "P2D"}])
    assert (told["mistakes"], told["more"]) == ([], 0)
    assert list(ways_of(told["drawing"])) == [("@entry", "wait"), ("wait", "more"), ("more", "@completed")]
    assert (Journey.objects.get().revision, JourneyRevision.objects.count()) == (1, 1)


def test_of_very_many_mistakes_the_first_are_told_and_the_others_counted(staff: Client, acme: Workspace) -> None:
    told = drafted(staff, steps=[{"id": "wait", "type": "delay", "for": "P1D", **{f"naem{n}": n for n in range(300)}}])
    assert (len(told["mistakes"]), told["more"]) == (100, 200)


def test_a_step_that_nobody_can_reach_is_told_where_it_stands_and_at_the_step(staff: Client, acme: Workspace) -> None:
    lost = {"id": "lost", "type": "delay", "for": "P1D", "next": None}
    steps = [{"id": "out", "type": "exit", "reason": "Over."}, lost]
    told = drafted(staff, steps=json.dumps(steps, indent=1))
    message = "The step 'lost' cannot be reached: no way leads to it from the first step."
    (warning,) = told["warnings"]
    assert (told["mistakes"], warning["message"], warning["line"]) == ([], f"steps[1]: {message}", 7)
    notes = {node["id"]: (node["notes"], node.get("warnings")) for node in told["drawing"]["nodes"]}
    assert notes["lost"] == ([{"text": "⚠ warning", "kind": "warning"}], [message])
    assert notes["out"] == ([], None)

    page = make(staff, acme, steps=steps, _continue="")
    assert unescape(page).count(f"steps[1]: {message}") == 2  # as what saving found, and below the map
    assert node_in(drawing_in(page, "map-drawing"), "lost")["warnings"] == [message]
    assert JourneyRevision.objects.get().steps == steps


def test_every_mistake_is_told_where_it_stands_in_the_text(staff: Client) -> None:
    text = """[
  {"id": "🚀", "type": "delay", "for": "soon"},
  {"id": "call", "type": "webhook", "url": "http://10.0.0.1/{{ user.name }}", "next": "gone"}
]"""
    others = {
        "exit_on": '[{"event": ""}]',
        "entry_conditions": '{"all": [1]}',
        "guards": '{"entries": 0, "per": "soon"}',
    }
    told = drafted(staff, steps=text.replace("\n", "\r\n"), **others)
    browsers = text.encode("utf-16-le")
    found = [
        (one["field"], one["line"], browsers[2 * one["begin"] : 2 * one["end"]].decode("utf-16-le"))
        for one in told["mistakes"]
        if one["field"] == "steps"
    ]
    url = '"http://10.0.0.1/{{ user.name }}"'
    assert found == [
        ("steps", 2, '"🚀"'),
        ("steps", 2, '"soon"'),
        ("steps", 3, url),
        ("steps", 3, url),
        ("steps", 3, '"gone"'),
    ]
    assert {one["field"] for one in told["mistakes"]} == {"steps", *others}
    assert [one["begin"] for one in told["mistakes"] if one["field"] == "guards"] == [12, 22]
    assert told["drawing"] is None


def test_what_is_no_json_says_where_it_ends_to_be_some(staff: Client) -> None:
    (mistake,) = drafted(staff, steps='[\n  {"id": "a",}\n]')["mistakes"]
    assert (mistake["line"], mistake["begin"]) == (2, 15)
    assert mistake["message"].startswith("steps is not JSON: ")


def test_steps_that_break_a_rule_of_today_are_drawn_all_the_same(staff: Client) -> None:
    told = drafted(staff, steps=[{"id": "call", "type": "webhook", "url": "http://10.0.0.1/", "body": "{{ user.a }}"}])
    assert len(told["mistakes"]) == 2
    assert ("@entry", "call") in ways_of(told["drawing"])


def test_who_may_not_write_steps_may_not_have_them_checked(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS)
    for permissions in (("view_journey", "view_customer"), ("view_journey", "change_journey")):
        client = staff_with(*permissions)
        assert [client.post(url, said()).status_code for url in (of(journey), NEW)] == [403, 403]
    may = staff_with("view_journey", "change_journey", "view_customer")
    assert may.post(of(journey), said(steps=STEPS)).status_code == 200
    assert may.post(NEW, said()).status_code == 403
    assert staff.post("/admin/journeys/journey/nobody/draft/", said()).status_code == 404
    assert Client().post(NEW, said()).status_code == 302
    strict = Client(enforce_csrf_checks=True, headers={"cookie": f"sessionid={staff.cookies['sessionid'].value}"})
    assert strict.post(NEW, said()).status_code == 403


def test_the_form_knows_where_to_ask_and_examples_of_steps(staff: Client, acme: Workspace) -> None:
    editor = drawing_in(staff.get(ADD).content.decode(), "journey-editor")
    assert editor["url"] == NEW
    steps = [json.loads(example["text"]) for example in editor["examples"]]
    definition = {"url": "https://mail.example/send"}
    CONNECTIONS.save(workspace=acme, key="postmark", now=timezone.now(), definition=definition)
    TOPICS.save(workspace=acme, key="offers", now=timezone.now(), channels=["email"], default="opted_in")
    offer(acme, key="spring-sale")
    offer(acme, key="new-terms")
    assert drafted(staff, workspace=acme.id, key="k", steps=steps)["mistakes"] == []
    journey = JourneyFactory.create(workspace=acme)
    looking = staff_with("view_journey", "view_customer").get(f"/admin/journeys/journey/{journey.id}/change/")
    assert "journey-editor" not in looking.content.decode()


@each("steps", ["[" * 300, "9" * 5000, '["\\ud800"]', "{}", "null", '[{"id": "a", "id": "b"}]'])
def test_whatever_is_typed_is_answered(staff: Client, steps: str) -> None:
    assert "mistakes" in drafted(staff, steps=steps)
