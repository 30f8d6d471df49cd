"""Pages show secrets as ***, and an edit loses none of them."""

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.journey.authoring import save_journey
from journeys.models import Journey, JourneyRevision
from tests.admin.journey_form import said
from tests.support.audit import written

pytestmark = pytest.mark.django_db
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer hush", "X-Shop": "hush {{ journey.id }}"}
CALL: dict[str, Any] = {"id": "call", "type": "webhook", "url": "https://mail.example/send", "headers": HEADERS}
MASKED = {**CALL, "headers": {"Content-Type": "application/json", "Authorization": "***", "X-Shop": "***"}}
NEEDED = "needs its value: *** keeps what is stored for the same step and the same host, and there is nothing."


def save(workspace: Workspace, steps: Any) -> Journey:
    return save_journey(workspace=workspace, key="welcome", now=timezone.now(), steps=steps).journey


def headers_of(journey: Journey) -> Any:
    return JourneyRevision.objects.filter(journey=journey).latest("number").steps[0]["headers"]


@pytest.mark.slow
def test_a_form_shows_masks_and_loses_nothing(staff: Client, acme: Workspace) -> None:
    journey = save(acme, [CALL])
    page = unescape(staff.get(page_url(journey)).content.decode())
    assert '"Authorization": "***"' in page
    assert '"Content-Type": "application/json"' in page
    assert "hush" not in page
    changed = [{**MASKED, "url": "https://mail.example/other"}, {"id": "day", "type": "delay", "for": "P1D"}]
    assert staff.post(page_url(journey), said(name="Welcome", steps=changed)).status_code == 302
    assert headers_of(journey) == HEADERS
    assert staff.post(page_url(journey), said(name="Renamed", steps=changed)).status_code == 302
    assert JourneyRevision.objects.filter(journey=journey).count() == 2
    stolen = unescape(
        staff.post(
            page_url(journey), said(name="Renamed", steps=[{**MASKED, "url": "https://elsewhere.example/"}])
        ).content.decode()
    )
    assert f"steps[0].headers.Authorization {NEEDED}" in stolen
    assert "hush" not in stolen
    draft = staff.post(page_url(journey).replace("/change/", "/draft/"), said(name="Renamed", steps=changed)).json()
    assert (draft["mistakes"], "hush" in json.dumps(draft)) == ([], False)
    assert "hush" not in written()


def test_a_revision_shows_that_a_secret_was_another_one(staff: Client, acme: Workspace) -> None:
    journey = save(acme, [CALL])
    save(acme, [{**CALL, "headers": {**HEADERS, "Authorization": "Bearer hush 2"}}])
    page = unescape(staff.get(page_url(JourneyRevision.objects.get(journey=journey, number=2))).content.decode())
    assert '+      "Authorization": "*** (another)"' in page
    assert "hush" not in page
