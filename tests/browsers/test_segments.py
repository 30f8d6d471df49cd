"""A segment's conditions are written as rows or as JSON, and counted meanwhile; read is what is stored."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from customers.models import Segment
from engage.models import Workspace
from tests.browsers.staff import Staff, superuser_at
from tests.support.factories import PRO, CustomerFactory, SegmentFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


def saved(page: Page) -> None:
    page.get_by_role("button", name="Save and continue editing").click()
    page.wait_for_selector("text=was changed successfully")


def test_conditions_are_written_as_rows_and_counted_meanwhile(staff: Staff, acme: Workspace) -> None:
    for plan, seats in (("pro", 20), ("pro", 5), ("free", 20)):
        CustomerFactory.create(workspace=acme, attributes={"plan": plan, "seats": seats})
    segment = SegmentFactory.create(workspace=acme, conditions=None)
    page = staff.opens(segment)
    told = page.locator(".studio-count")
    page.get_by_role("button", name="Add a condition: Conditions").click()
    page.get_by_label("Field of Conditions").fill("customer.plan")
    page.keyboard.press("Tab")
    page.get_by_label("Value of Conditions", exact=True).fill("pro")
    page.keyboard.press("Tab")
    expect(told).to_have_text("With what is written here: 2, counted just now.")
    page.get_by_label("Form of Conditions").select_option(label="All of")
    page.get_by_role("button", name="Add a condition to Conditions").click()
    page.get_by_label("Field of condition 2 of Conditions").fill("customer.seats")
    page.keyboard.press("Tab")
    kind = page.get_by_label("Kind of the value of condition 2 of Conditions")
    expect(kind.locator("option:checked")).to_have_text("number")  # as others have there
    page.get_by_label("Operation of condition 2 of Conditions").select_option(label="is more than")
    page.get_by_label("Value of condition 2 of Conditions", exact=True).fill("10")
    page.keyboard.press("Tab")
    expect(told).to_have_text("With what is written here: 1, counted just now.")
    staff.finds_nothing_serious("#content-main")
    saved(page)
    many = {"field": "customer.seats", "op": "gt", "value": 10}
    assert Segment.objects.get().conditions == {"all": [PRO, many]}
    expect(page.get_by_text("1, counted just now", exact=True)).to_be_visible()


def test_rows_and_json_are_two_views_of_one_text(staff: Staff, acme: Workspace) -> None:
    deep = {"any": [{"not": {"all": [PRO, {"any": [PRO, {"not": PRO}]}]}}, {**PRO, "op": "in", "value": ["a, b", 1.5]}]}
    segment = SegmentFactory.create(workspace=acme, conditions=deep)
    page = staff.opens(segment)
    area = page.locator("#id_conditions")
    written = area.input_value()
    for view in ("JSON", "Form"):
        page.locator(".studio-views").get_by_text(view, exact=True).click()
        expect(area).to_be_visible(visible=view == "JSON")
        assert area.input_value() == written
    page.locator(".studio-views").get_by_text("JSON", exact=True).click()
    area.fill("{")
    page.locator(".studio-views").get_by_text("Form", exact=True).click()
    expect(page.locator(".studio-beside")).to_contain_text("This is no JSON")
    area.fill(json.dumps({"all": [PRO, {**PRO, "op": "like"}]}))
    page.locator(".studio-views").get_by_text("Form", exact=True).click()
    place = "[data-place='conditions.all[1]']"
    expect(page.locator(place)).to_contain_text(re.compile("'like'"))
    page.get_by_label("Operation of condition 2 of Conditions").select_option(label="is not")
    expect(page.locator(place)).to_be_hidden()
    saved(page)
    assert Segment.objects.get().conditions == {"all": [PRO, {**PRO, "op": "ne"}]}
    assert staff.complaints == []


def test_what_is_no_number_is_told_and_not_saved(staff: Staff, acme: Workspace) -> None:
    many = {"field": "customer.seats", "op": "gt", "value": 100}
    late = {"field": "customer.since", "op": "after", "value": {"now": "P7D"}}
    segment = SegmentFactory.create(workspace=acme, conditions={"all": [many, late]})
    page = staff.opens(segment)
    value = page.get_by_label("Value of condition 1 of Conditions", exact=True)
    value.fill("ten")
    page.get_by_role("button", name="Save and continue editing").click()
    expect(value).to_be_focused()
    expect(page.locator(".studio-unread:not(:empty)")).to_contain_text("This is no number.")
    value.fill("99,5")
    page.get_by_label("Value of condition 2 of Conditions: number").fill("2.5")
    page.keyboard.press("Tab")
    expect(page.locator("[data-place='conditions.all[1]']")).to_contain_text("P1D")
    page.get_by_label("Value of condition 2 of Conditions: unit").select_option(label="seconds")
    saved(page)
    within = {**late, "value": {"now": "PT2.5S"}}
    assert Segment.objects.get().conditions == {"all": [{**many, "value": 99.5}, within]}
    assert staff.complaints == []


def test_who_may_only_look_sees_the_same_rows_and_changes_nothing(staff: Staff, acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions={"all": [PRO, {"not": PRO}]})
    onlooker = User.objects.create_user("onlooker", is_staff=True)
    onlooker.user_permissions.set(Permission.objects.filter(codename__in=["view_segment", "view_customer"]))
    staff.logs_in(onlooker)
    page = staff.opens(segment)
    expect(page.get_by_label("Value of condition 1 of Conditions", exact=True)).to_have_value("pro")
    assert page.locator(".studio-form :is(input, select, textarea):visible:not(:disabled)").count() == 0
    assert page.locator(".studio-form button:visible").count() == 0
    staff.finds_nothing_serious("#content-main")
    page.locator(".studio-views").get_by_text("JSON", exact=True).click()
    area = page.locator("#id_conditions")
    assert json.loads(area.input_value()) == segment.conditions
    expect(area).to_have_attribute("readonly", "")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_it_is_seen(browser: Browser, live_server: LiveServer, acme: Workspace, width: int, scheme: Any) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions={"all": [PRO, {"any": [PRO, {"not": PRO}]}]})
    viewport = {"width": width, "height": 900}
    with superuser_at(browser, live_server.url, viewport=viewport, color_scheme=scheme) as staff:
        page = staff.opens(segment)
        page.get_by_label("Field of condition 1 of Conditions").fill("customer.seats")
        page.keyboard.press("Tab")
        page.wait_for_selector(".studio-count:not(:empty)")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        staff.finds_nothing_serious("#content-main")
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"segment-{width}-{scheme}.png", full_page=True)
