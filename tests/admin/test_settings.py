"""The settings of a journey, as those see them who may look and change nothing."""

import json
import re
from html import unescape
from typing import Any, NamedTuple

from django.test import Client

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import Journey
from tests.admin.staff import staff_with
from tests.support.cases import each
from tests.support.factories import DAY, PRO, JourneyFactory

BIG = {"field": "event.properties.price", "op": "gt", "value": 10}
FORMS: dict[str, Any] = {
    "entry_conditions": PRO,
    "event_where": BIG,
    "exit_on": [{"event": "bought", "where": BIG}],
    "guards": {"failedShare": 0.25, "of": 50},
    "goals": [{"key": "bought", "event": "order_paid", "within": "P7D"}],
    "hold_out": {"share": 0.1},
}
_AREA = re.compile(r'<textarea(?=[^>]* data-form="([^"]*)")(?=[^>]* id="id_([^"]*)")([^>]*)>([^<]*)</textarea>')


def made(acme: Workspace) -> Journey:
    own = {name: value for name, value in FORMS.items() if name != "exit_on"}
    return JourneyFactory.create(
        workspace=acme,
        trigger_type="event",
        event_name="ordered",
        steps=[DAY],
        steps__exit_on=FORMS["exit_on"],
        **own,
    )


class Shown(NamedTuple):
    """A field that has a form: what it is called there, whether it can be changed, and its value."""

    label: str
    is_input: bool
    value: Any


def forms_on(page: str) -> dict[str, Shown]:
    return {
        name: Shown(json.loads(unescape(form))["label"], " name=" in area, json.loads(unescape(text).strip() or "null"))
        for form, name, area, text in _AREA.findall(page)
    }


@each("may", [["view_journey"], ["view_journey", "view_journeyrevision", "view_customer"]])
def test_who_may_only_look_has_forms_in_which_nothing_can_be_changed(acme: Workspace, may: list[str]) -> None:
    journey = made(acme)
    client = staff_with(*may)
    page = client.get(page_url(journey)).content.decode()
    found = forms_on(page)
    assert {name: one.value for name, one in found.items()} == FORMS
    assert not any(one.is_input for one in found.values())
    assert (found["goals"].label, found["hold_out"].label) == ("What it is for", "Who is held out, to compare")
    assert "journeys/studio/forms" in page
    assert page.count('<pre class="engage-json">') == 1  # the steps, which have a page of their own
    before = Journey.objects.values().get()
    assert client.post(page_url(journey), {"goals": "[]", "hold_out": ""}).status_code == 403
    assert Journey.objects.values().get() == before


def test_who_may_change_journeys_and_view_no_customers_writes_what_tells_nothing_of_them(acme: Workspace) -> None:
    page = staff_with("view_journey", "change_journey").get(page_url(made(acme))).content.decode()
    found = forms_on(page)
    assert {name for name, one in found.items() if one.is_input} == {"guards", "hold_out"}
    assert found.keys() == FORMS.keys()


def test_what_a_journey_has_not_is_no_form(acme: Workspace, onlooker: Client) -> None:
    found = forms_on(onlooker.get(page_url(JourneyFactory.create(workspace=acme, steps=[DAY]))).content.decode())
    assert found == {}
