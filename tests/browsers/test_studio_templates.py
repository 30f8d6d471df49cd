"""Each template is built from nothing, step by step, by keyboard alone and by mouse alone; read is what is stored."""

import json
from typing import Any

import pytest

from bridge.models import Message
from engage.models import Workspace
from journeys.journey.starters import STARTERS
from journeys.models import Journey, JourneyRevision
from journeys.steps.graph import graph_of
from tests.browsers.hands import Hand, Keyboard, Mouse, add, duration, members, named, opened, published
from tests.browsers.staff import Staff
from tests.support.factories import JourneyFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, steps=[])


def mail(hand: Hand, where: str, name: str, body: dict[str, Any]) -> None:
    page = hand.page
    add(hand, where, "Call a webhook")
    hand.write(page.get_by_label("URL", exact=True), "https://mail.example/send")
    hand.choose(page.get_by_label("Content", exact=True), "JSON")
    members(hand, "Body", {"to": "{{ customer.email }}", **body})
    named(hand, name)


def wait(hand: Hand, where: str, name: str, number: str, unit: str) -> None:
    add(hand, where, "Wait")
    duration(hand, "For", number, unit)
    named(hand, name)


def wait_until_before(hand: Hand, where: str, name: str, days: str) -> None:
    page = hand.page
    add(hand, where, "Wait")
    hand.choose(page.get_by_label("How long"), "Until a moment")
    hand.write(page.get_by_label("At", exact=True), "{{ api.payload.endsAt }}")
    hand.write(page.get_by_label("Shifted by: number"), days)
    hand.choose(page.get_by_label("Shifted by: before or after"), "before")
    named(hand, name)


def listen(hand: Hand, where: str, name: str, event: str, number: str, unit: str) -> None:
    add(hand, where, "Wait for an event")
    hand.write(hand.page.get_by_label("Event", exact=True), event)
    duration(hand, "At most", number, unit)
    named(hand, name)


def ends_with(hand: Hand, event: str) -> None:
    page = hand.page
    hand.press(page.get_by_role("tab", name="Entry and exits"))
    hand.press(page.get_by_role("button", name="Add a rule"))
    hand.write(page.get_by_label("Event", exact=True), event)
    page.keyboard.press("Tab")


def welcome(hand: Hand) -> None:
    mail(hand, "at the beginning", "welcome", {"template": "welcome", "name": "{{ customer.firstName }}"})
    listen(hand, "after welcome", "started", "started", "3", "days")
    mail(hand, "after started, When it did not", "reminder", {"template": "reminder"})
    ends_with(hand, "unsubscribed")


def cart(hand: Hand) -> None:
    items = {"$value": "event.properties.items"}
    wait(hand, "at the beginning", "pause", "4", "hours")
    mail(hand, "after pause", "reminder", {"template": "cart", "items": items})
    wait(hand, "after reminder", "day", "1", "days")
    mail(hand, "after day", "last-call", {"template": "cart-last-call"})
    ends_with(hand, "order_paid")


def renewal(hand: Hand) -> None:
    wait_until_before(hand, "at the beginning", "week-before", "7")
    mail(hand, "after week-before", "reminder", {"template": "renewal"})
    wait_until_before(hand, "after reminder", "day-before", "1")
    mail(hand, "after day-before", "last-reminder", {"template": "renewal-last"})
    ends_with(hand, "subscription_renewed")


def survey(hand: Hand) -> None:
    page = hand.page
    add(hand, "at the beginning", "Show an in-app message")
    hand.write(page.get_by_label("Message", exact=True), "nps")
    hand.write(page.get_by_label("Shown for", exact=True), "14")
    hand.choose(page.get_by_label("Shown for: unit"), "days")
    hand.tick(page.get_by_label("Withdraw it when the customer leaves"))
    named(hand, "ask")
    listen(hand, "after ask", "answer", "in_app.acted", "14", "days")
    hand.choose(page.get_by_label("Of the message of"), "ask")
    add(hand, "after answer, When it came", "Change the profile")
    members(hand, "Attributes", {"npsAnsweredAt": "{{ now }}"})
    named(hand, "answered")
    mail(hand, "after answered", "thanks", {"template": "nps-thanks"})


def win_back(hand: Hand) -> None:
    page = hand.page
    add(hand, "at the beginning", "Split by chance")
    named(hand, "offer")
    mail(hand, "after offer, way 1", "discount", {"template": "discount"})
    mail(hand, "after offer, way 2", "news", {"template": "news"})
    listen(hand, "after news", "back", "visited", "7", "days")
    add(hand, "after back, When it did not", "Change the profile")
    members(hand, "Attributes", {"lost": True})
    named(hand, "lost")
    hand.press(page.locator(".studio-step[data-step=discount]"))
    page.wait_for_selector("section[aria-label='Step discount']")
    hand.choose_first(page.get_by_label("Next step"), "back:")
    ends_with(hand, "order_paid")


BUILDERS = {"welcome": welcome, "cart": cart, "renewal": renewal, "survey": survey, "win_back": win_back}
_WAYS = {"next", "onEvent", "onTimeout", "paths"}


def meaning(steps: Any, exit_on: Any) -> Any:
    """What the definition says, in whichever order its steps stand."""
    graph = graph_of(steps, exit_on)
    own = {step["id"]: {name: value for name, value in step.items() if name not in _WAYS} for step in steps}
    units = json.loads(json.dumps(own).replace('"P7D"', '"P1W"').replace('"P14D"', '"P2W"'))
    return set(graph.edges), units, exit_on


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("kind", [Keyboard, Mouse])
def test_each_template_is_built_from_nothing_and_published(
    staff: Staff, journey: Journey, kind: type[Hand], name: str
) -> None:
    seed_messages(journey.workspace, name)
    page = opened(staff, journey)
    hand = kind(page)
    BUILDERS[name](hand)
    published(hand)
    revision = JourneyRevision.objects.get(journey=journey, number=2)
    wanted = STARTERS[name].content
    assert meaning(revision.steps, revision.exit_on) == meaning(wanted["steps"], wanted["exitOn"])
    assert staff.complaints == []


def seed_messages(workspace: Workspace, name: str) -> None:
    for message in STARTERS[name].seed.get("messages", ()):
        Message.objects.create(workspace=workspace, **message)


def test_every_template_is_begun_with_and_published_as_it_is(staff: Staff, acme: Workspace) -> None:
    for name in ("welcome", "cart", "renewal", "win_back"):
        journey = JourneyFactory.create(workspace=acme, key=name.replace("_", "-"), steps=[])
        page = opened(staff, journey)
        page.get_by_label("Begin with a template").select_option(label=STARTERS[name].name)
        published(Mouse(page))
        revision = JourneyRevision.objects.get(journey=journey, number=2)
        assert {"steps": revision.steps, "exitOn": revision.exit_on} == STARTERS[name].content
    assert staff.complaints == []
