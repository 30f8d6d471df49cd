"""Two members of staff have the same page open: what the one did not edit is as the other left it."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client

from engage.admin.columns import page_url
from engage.models import Workspace
from journeys.models import JourneyRevision
from tests.factories import ApiKeyFactory, AppFactory, JourneyFactory, SegmentFactory

DAY = [{"id": "wait", "type": "delay", "for": "P1D"}]
PRO = {"field": "customer.plan", "op": "eq", "value": "pro"}
FREE = {"field": "customer.plan", "op": "eq", "value": "free"}


class _Form(HTMLParser):
    """The fields of the page's form, with the values that a browser would send."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._within = False
        self._text = self._choice = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self._within = (given.get("id") or "").endswith("_form")
        elif not self._within:
            return
        elif tag == "input" and name and given.get("type") == "checkbox":
            if "checked" in given:
                self.values[name] = value or "on"
        elif tag == "input" and name and given.get("type") not in {"submit", "button"}:
            self.values[name] = value
        elif tag == "textarea":
            self._text, self.values[name] = name, ""
        elif tag == "select":
            self._choice = name
        elif tag == "option" and "selected" in given:
            self.values[self._choice] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.values[self._text] += data


def form_of(staff: Client, record: Model) -> dict[str, str]:
    form = _Form()
    form.feed(staff.get(page_url(record)).content.decode())
    return {name: value.removeprefix("\r\n").removeprefix("\n") for name, value in form.values.items()}


def edit(staff: Client, record: Model, form: dict[str, str], **fields: Any) -> None:
    """Sends the form with these fields in the place of its own; one that is None is left out."""
    sent = {name: value for name, value in {**form, **fields}.items() if value is not None}
    assert staff.post(page_url(record), sent).status_code == 302
    record.refresh_from_db()


def test_a_journey_that_was_switched_off_and_mended_stays_so(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, active=True, entry_conditions=PRO, steps=DAY)
    form = form_of(staff, journey)
    mended = '[{"id": "wait", "type": "delay", "for": "P2D"}]'
    edit(staff, journey, form, active=None, steps=mended, max_entries_per_customer="7")
    edit(staff, journey, form, name="Another name", exit_on='[{"event": "left"}]')
    assert (journey.name, journey.active, journey.max_entries_per_customer) == ("Another name", False, 7)
    assert journey.entry_conditions == PRO
    current = JourneyRevision.objects.get(journey=journey, number=journey.revision)
    assert (current.steps, current.exit_on) == ([{**DAY[0], "for": "P2D"}], [{"event": "left"}])


def test_an_edit_may_change_everything(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, active=True, entry_conditions=PRO, steps=DAY)
    edit(staff, journey, form_of(staff, journey), active=None, entry_conditions="", steps="[]", name="New")
    assert (journey.name, journey.active, journey.entry_conditions, journey.revision) == ("New", False, None, 2)


def test_an_app_that_was_switched_off_stays_so(staff: Client, acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme, enabled=True, allowed_origins=["https://a.example", "https://b.example"])
    form = form_of(staff, app)
    edit(staff, app, form, enabled=None)
    edit(staff, app, form, name="Another name")
    assert (app.name, app.enabled, app.allowed_origins) == (
        "Another name",
        False,
        ["https://a.example", "https://b.example"],
    )


def test_a_limit_that_was_lowered_stays_so(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, rate_limit="1000/m")
    form = form_of(staff, key)
    edit(staff, key, form, rate_limit="10/m")
    edit(staff, key, form, name="Another name")
    assert (key.name, key.rate_limit) == ("Another name", "10/m")


@pytest.mark.parametrize("again", [FREE, None])
def test_conditions_that_were_changed_stay_so(staff: Client, acme: Workspace, again: Any) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions=PRO)
    form = form_of(staff, segment)
    segment.conditions = again
    segment.save(update_fields=["conditions"])
    edit(staff, segment, form, name="Another name")
    assert (segment.name, segment.conditions) == ("Another name", again)
