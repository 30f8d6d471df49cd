"""The editor of journeys itself: what is changed, kept, undone and told of."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Dialog, Page, expect
from pytest_django.live_server_helper import LiveServer

from customers.models import Customer
from engage.models import Workspace
from journeys.journey.draft.drafts import Content, keep_draft
from journeys.journey.starters import STARTERS
from journeys.models import Journey, JourneyDraft, JourneyRevision
from tests.browsers.hands import Mouse, opened, published
from tests.browsers.staff import Staff, superuser_at
from tests.journeys.walking.stories import enter
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]
DAYS: list[dict[str, Any]] = [{"id": f"s{number}", "type": "delay", "for": "P1D"} for number in range(2)]


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, steps=[])


def kept(page: Page) -> None:
    page.wait_for_function("/^(Kept|As published)/.test(document.querySelector('.studio-status').textContent)")
    page.wait_for_timeout(600)
    page.wait_for_function("/^(Kept|As published)/.test(document.querySelector('.studio-status').textContent)")


def test_those_inside_are_moved_along_where_the_publisher_ticks_that(
    staff: Staff, acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    day = {"id": "day", "type": "delay", "for": "P1D"}
    journey = JourneyFactory.create(workspace=acme, steps=[day])
    enter(server, journey, ada)
    changed = Content(steps=[{**day, "for": "P2D"}], exit_on=[])
    keep_draft(journey, sent=changed, version=0, began_from=None, by="root", now=timezone.now())
    page = staff.goes_to(f"/admin/journeys/journey/{journey.id}/steps/publish/")
    page.get_by_label("Move along: 1 customer inside goes on with revision 2").check()
    looked_at(staff, "publish, move along")
    page.get_by_role("button", name="Publish", exact=True).click()
    page.wait_for_selector("text=Those inside are being moved along.")
    page = staff.opens(journey)
    page.wait_for_selector("text=those inside to revision 2")
    looked_at(staff, "journey, moving")


def looked_at(staff: Staff, called: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        staff.page.screenshot(path=Path(folder) / f"{called}.png")
    staff.finds_nothing_serious()


def ids_in(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(".studio-step", "all => all.map((one) => one.dataset.step)")
    return found


def test_steps_are_moved_taken_out_undone_and_told_of(staff: Staff, journey: Journey) -> None:
    page = opened(staff, journey)
    page.get_by_label("Begin with a template").select_option(label=STARTERS["cart"].name)
    page.wait_for_selector(".studio-step[data-step=day]")
    page.locator(".studio-step[data-step=day]").press("Alt+ArrowUp")
    page.wait_for_function("document.querySelectorAll('.studio-step')[1].dataset.step === 'day'")
    assert ids_in(page) == ["pause", "day", "reminder", "last-call"]
    page.locator(".studio-step[data-step=day]").press("Delete")
    page.wait_for_selector(".studio-step[data-step=day]", state="detached")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    wait_until(lambda: ids_in(page) == ["pause", "reminder", "day", "last-call"], what="both undone")
    page.locator(".studio-map [data-step=reminder]").press("Enter")
    page.get_by_label("URL", exact=True).fill("nowhere")
    page.keyboard.press("Tab")
    page.wait_for_selector(".studio-step[data-step=reminder] >> text=1 mistake")
    assert page.locator(".studio-said:not(:empty)").count() == 1
    page.locator('.studio-map [data-way="day next"]').click()
    page.locator("dialog button", has=page.get_by_text("Branch", exact=True)).click()
    page.get_by_role("button", name="Add a condition: If").or_(page.get_by_label("Field of If")).first.wait_for()
    page.get_by_label("Field of If").fill("customer.plan")
    page.keyboard.press("Tab")
    page.get_by_label("Value of If", exact=True).fill("pro")
    page.keyboard.press("Tab")
    page.wait_for_selector(".studio-step[data-step=branch]")
    kept(page)
    draft = JourneyDraft.objects.get()
    assert draft.steps[3]["cases"] == [
        {"if": {"field": "customer.plan", "op": "eq", "value": "pro"}, "next": "last-call"}
    ]
    staff.finds_nothing_serious("#content-main")


def drags(page: Page, step: str, onto: str) -> None:
    """By the mouse, in the drawing, and does not let go yet."""
    page.locator(f".studio-map [data-step={step}]").hover()
    page.mouse.down()
    box = page.locator(f'.studio-map-plus[data-way="{onto}"] circle').bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    expect(page.locator(".studio-map .onto")).to_have_attribute("data-way", onto)


def test_a_step_is_dragged_onto_a_way_of_the_drawing(staff: Staff, acme: Workspace) -> None:
    listen = {"id": "listen", "type": "wait_for_event", "event": "bought", "timeout": "P3D", "onEvent": "last"}
    steps = [listen, {**DAYS[0], "id": "day"}, {**DAYS[1], "id": "last"}]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    page = opened(staff, journey)
    drawing = page.locator(".studio-map")
    drags(page, "day", onto="listen onEvent")
    expect(drawing.locator(".open")).to_have_count(3)  # all but those that it is on
    looked_at(staff, "studio, dragged")
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(drawing.locator(":is(.dragged, .onto, .open)")).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    drags(page, "day", onto="listen onEvent")
    page.mouse.up()
    expect(page.locator(".studio-step[data-step=day]")).to_have_attribute("aria-current", "true")
    kept(page)
    stored = JourneyDraft.objects.get().steps
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".studio-status")).to_have_text("As published.")
    assert not JourneyDraft.objects.exists()
    page.get_by_role("button", name="Redo").click()
    page.wait_for_function("!document.querySelector('.studio-status').textContent.startsWith('As published')")
    kept(page)
    published(Mouse(page))
    assert JourneyRevision.objects.get(journey=journey, number=2).steps == stored
    assert stored == [{**listen, "onEvent": "day", "onTimeout": "last"}, *steps[1:]]
    assert staff.complaints == []


def test_two_authors_are_told_of_each_other(staff: Staff, journey: Journey) -> None:
    page = opened(staff, journey)
    JourneyDraft.objects.create(
        workspace=journey.workspace, journey=journey, revision=1, steps=DAYS[:1], written_by="grace",
        updated_at=journey.created_at,
    )  # fmt: skip
    page.get_by_label("Begin with a template").select_option(label=STARTERS["welcome"].name)
    page.wait_for_selector("text=grace has changed the draft")
    assert JourneyDraft.objects.get().steps == DAYS[:1]
    for name in ("Publish…", "Try it"):
        page.get_by_role("button", name=name).click()
        expect(page.locator(".studio-status")).to_contain_text("is not kept")
    page.wait_for_selector(".studio-step[data-step=welcome]")
    page.get_by_role("button", name="Write over it").click()
    kept(page)
    assert JourneyDraft.objects.get().steps[0]["id"] == "welcome"


def test_what_was_changed_last_is_kept_though_the_page_is_left_at_once(staff: Staff, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "bye", "type": "exit", "reason": "old"}])
    leaving: dict[str, Callable[[Page], Any]] = {
        "by a link": lambda page: page.locator("nav.engage-tabs").get_by_text("Map", exact=True).click(),
        "by reloading": lambda page: page.reload(),
    }
    for reason, leave in leaving.items():
        page = opened(staff, journey)
        page.get_by_label("Reason").fill(reason)
        leave(page)
        wait_until(lambda: any(one.steps[0]["reason"] == reason for one in JourneyDraft.objects.all()), what=reason)  # noqa: B023
    assert staff.complaints == []


@pytest.mark.parametrize("is_reached", [True, False])
def test_who_leaves_with_what_could_not_be_kept_is_asked(staff: Staff, acme: Workspace, *, is_reached: bool) -> None:
    """Where the server is not reached, or what is written is too long to outlive its page."""
    bye = {"id": "bye", "type": "exit", "reason": "old"}
    call = {"id": "call", "type": "webhook", "url": "https://a.example/", "body": {"text": "x" * 70_000}}
    page = opened(staff, JourneyFactory.create(workspace=acme, steps=[bye, call] if is_reached else [bye]))
    asked: list[str] = []

    def leaves(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leaves)
    page.get_by_label("Reason").click()
    if not is_reached:
        page.route("**/keep/", lambda route: route.abort())
    typed(page, "Reason", "new")
    if not is_reached:
        expect(page.locator(".studio-status")).to_contain_text("could not be kept")
    page.reload()
    assert asked == ["beforeunload"]
    page.reload()
    assert len(asked) == 1, "nothing was changed"


def test_a_draft_is_thrown_away_with_what_was_just_written(staff: Staff, acme: Workspace) -> None:
    bye = {"id": "bye", "type": "exit", "reason": "old"}
    journey = JourneyFactory.create(workspace=acme, steps=[bye])
    changed = Content(steps=[{**bye, "reason": "new"}], exit_on=[])
    keep_draft(journey, sent=changed, version=0, began_from=None, by="root", now=timezone.now())
    page = opened(staff, journey)
    typed(page, "Reason", "newer")
    kept(page)
    page.get_by_label("Reason").fill("newest")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Throw the draft away").click()
    page.wait_for_selector("text=The draft is thrown away.")
    assert not JourneyDraft.objects.exists()


def test_json_is_the_same_draft_and_nothing_is_lost(staff: Staff, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=DAYS)
    page = opened(staff, journey)
    page.get_by_role("tab", name="JSON").click()
    area = page.get_by_label("The definition as JSON")
    written = json.loads(area.input_value())
    assert written == {"steps": DAYS, "exitOn": []}
    area.fill(area.input_value().replace("P1D", "P7D"))
    kept(page)
    area.fill(area.input_value().replace('"steps"', '"name": "x", "steps"'))
    expect(page.locator(".studio-status")).to_contain_text("must be an object with steps")
    page.get_by_role("button", name="Publish…").click()
    expect(page.locator(".studio-status")).to_contain_text("is not kept")
    area.fill(area.input_value().replace('"name": "x", ', ""))
    kept(page)
    page.get_by_role("tab", name="Steps").click()
    page.wait_for_selector(".studio-step >> text=1 week")
    assert [step["for"] for step in JourneyDraft.objects.get().steps] == ["P7D", "P7D"]


def chosen(page: Page, step: str) -> None:
    page.locator(f".studio-step[data-step={step}]").click()
    page.wait_for_selector(f"section[aria-label='Step {step}']")


def typed(page: Page, label: str, text: str) -> None:
    page.get_by_label(label, exact=True).first.fill(text)
    page.keyboard.press("Tab")


def test_what_cannot_be_read_is_kept_as_it_was_typed_and_told(staff: Staff, acme: Workspace) -> None:
    """Neither what stood there before nor nothing is saved in its place."""
    shown = {"id": "shown", "type": "in_app", "message": "nps", "priority": 5, "expires": "P7D"}
    ways = {"id": "ways", "type": "split", "paths": [{"weight": 50, "next": None}, {"weight": 50, "next": None}]}
    at = {"id": "at", "type": "delay", "at": "{{ now }}", "offset": "-P14D"}
    test = {"field": "customer.score", "op": "gt", "value": 100}
    branch = {"id": "branch", "type": "branch", "cases": [{"if": test, "next": None}], "else": None}
    journey = JourneyFactory.create(workspace=acme, steps=[DAYS[0], shown, ways, at, branch])
    page = opened(staff, journey)
    labels = {"s0": "For", "shown": "Priority", "ways": "Weight", "at": "Shifted by: number", "branch": "Value of If"}
    wrong = {"s0": "1 1/2", "shown": "high", "ways": "half", "at": "-3", "branch": "1.000,5"}
    for step, label in labels.items():
        chosen(page, step)
        typed(page, label, wrong[step])
        expect(page.get_by_label(label, exact=True).first).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".studio-unread").filter(has_text="This is no")).to_have_count(1)
    staff.finds_nothing_serious("#content-main")
    kept(page)
    steps = JourneyDraft.objects.get().steps
    stored = [steps[0]["for"], steps[1]["priority"], steps[2]["paths"][0]["weight"], steps[3]["offset"]]
    assert [*stored, steps[4]["cases"][0]["if"]["value"]] == list(wrong.values())
    for step in ("s0", "shown", "ways", "at"):
        expect(page.locator(f".studio-step[data-step={step}]")).to_contain_text("mistake")
    page.get_by_role("button", name="Publish…").click()
    expect(page.locator(".studio-status")).to_contain_text("Mend it first.")
    for step, text in {"s0": "1,5", "shown": "7", "ways": "12,5", "at": "3", "branch": "99,5"}.items():
        chosen(page, step)
        expect(page.get_by_label(labels[step], exact=True).first).to_have_value(wrong[step])
        typed(page, labels[step], text)
        expect(page.get_by_label(labels[step], exact=True).first).to_have_attribute("aria-invalid", "false")
    kept(page)
    steps = JourneyDraft.objects.get().steps
    stored = [steps[0]["for"], steps[1]["priority"], steps[2]["paths"][0]["weight"], steps[3]["offset"]]
    assert [*stored, steps[4]["cases"][0]["if"]["value"]] == ["P1.5D", 7, 12.5, "P3D", 99.5]


def test_a_list_of_numbers_is_of_numbers(staff: Staff, acme: Workspace) -> None:
    call = {"id": "call", "type": "webhook", "url": "https://shop.example/stock"}
    test = {"field": "customer.seats", "op": "in", "value": ["1", "2"]}
    branch = {"id": "branch", "type": "branch", "cases": [{"if": test, "next": None}], "else": None}
    page = opened(staff, JourneyFactory.create(workspace=acme, steps=[call, branch]))
    page.get_by_role("button", name="Add a condition: It is well if").click()
    typed(page, "Field of It is well if", "answer.status")
    page.get_by_label("Operation of It is well if").select_option(label="is one of")
    typed(page, "Value of It is well if", "200, 201")
    chosen(page, "branch")
    kind = page.get_by_label("Kind of the value of If")
    expect(kind.locator("option:checked")).to_have_text("list of texts")
    kind.select_option(label="list of numbers")
    typed(page, "Value of If", "1, two")
    expect(page.get_by_label("Value of If", exact=True)).to_have_attribute("aria-invalid", "true")
    typed(page, "Value of If", "1, 2, 3")
    kept(page)
    call, branch = JourneyDraft.objects.get().steps
    assert call["ok"] == {"field": "answer.status", "op": "in", "value": [200, 201]}
    assert branch["cases"][0]["if"] == {**test, "value": [1, 2, 3]}
    assert staff.complaints == []


def test_a_name_that_cannot_be_is_told_and_stays(staff: Staff, acme: Workspace) -> None:
    profile = {"id": "profile", "type": "update_profile", "attributes": {"plan": "pro"}}
    page = opened(staff, JourneyFactory.create(workspace=acme, steps=[profile, *DAYS]))
    name = page.get_by_label("Name of the step")
    for text, why in (("Welcome mail", "letters from a to z"), ("s1", "of this name already"), ("x" * 101, "letters")):
        typed(page, "Name of the step", text)
        expect(name).to_have_value(text)
        expect(page.locator(".studio-unread:not(:empty)")).to_contain_text(why)
        expect(page.locator(".studio-unread:not(:empty)")).to_contain_text("It stays profile.")
    page.get_by_role("button", name="Publish…").click()
    expect(page.locator(".studio-status")).to_contain_text("Mend it first.")
    page.get_by_label("Name of the step").fill("no name")
    chosen(page, "s0")
    expect(page.locator(".studio-status")).to_contain_text("It stays profile.")
    chosen(page, "profile")
    page.get_by_role("button", name="Add to Attributes").click()
    for text, why in (("plan", "of this name already"), ("", "It needs a name")):
        typed(page, "Name 2 in Attributes", text)
        expect(page.locator(".studio-unread:not(:empty)")).to_contain_text(f"{why}. It stays name1.")
    typed(page, "Name 2 in Attributes", "constructor")
    page.wait_for_selector("textarea[aria-label='Attributes constructor']")
    kept(page)
    assert JourneyDraft.objects.get().steps[0]["attributes"] == {"plan": "pro", "constructor": ""}
    assert staff.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_it_is_seen(browser: Browser, live_server: LiveServer, acme: Workspace, width: int, scheme: Any) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STARTERS["win_back"].content["steps"])
    viewport = {"width": width, "height": 900}
    with superuser_at(browser, live_server.url, viewport=viewport, color_scheme=scheme) as staff:
        page = opened(staff, journey)
        page.wait_for_selector(".studio-map svg")
        folder = os.environ.get("SCREENSHOTS")
        for tab in ("Steps", "Entry and exits", "JSON"):
            page.get_by_role("tab", name=tab).click()
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            staff.finds_nothing_serious("#content-main")
            if folder:
                page.screenshot(path=Path(folder) / f"studio-{tab}-{width}-{scheme}.png", full_page=True)
