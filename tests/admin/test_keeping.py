"""A journey can be archived, duplicated and rolled back, and its page tells how to trigger it."""

import ast
import json
import re
import shlex
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.models import Journey, JourneyRevision
from tests.admin.records import list_of
from tests.admin.staff import member, staff_with
from tests.support.audit import told
from tests.support.calls import trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory

WAIT = {"id": "wait", "type": "delay", "for": "P1D"}
CALL = {"id": "call", "type": "webhook", "url": "https://mail.example/send", "headers": {"Authorization": "hush"}}


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    """With two revisions: it waited for a day, and then calls, too."""
    own: Any = {"workspace": acme, "key": "welcome", "now": timezone.now()}
    save_journey(**own, name="Welcome", steps=[WAIT], active=True)
    return save_journey(**own, steps=[WAIT, CALL], exit_on=[{"event": "bought"}]).journey


def act(client: Client, journey: Journey, what: str, **sent: Any) -> str:
    """The page that answers."""
    path = page_url(journey).replace("/change/", f"/{what}/")
    return client.post(path, sent, follow=True).content.decode()


def test_an_archived_journey_is_hidden_and_enters_nobody(
    staff: Client, server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    journey_off = JourneyFactory.create(workspace=acme, active=False)
    assert "Archived." in act(staff, journey, "archive")
    refused, as_refused = (trigger(server, one, {"external_id": "ada"}) for one in (journey, journey_off))
    assert refused.status_code == as_refused.status_code == 404
    assert refused.json()["error"] == as_refused.json()["error"] == "Journey not found"
    listed = {query: staff.get(list_of(Journey) + query).content.decode() for query in ("", "?archived=yes")}
    assert [page_url(journey) in page for page in listed.values()] == [False, True]
    assert "It was archived before." in act(staff, journey, "archive")
    with pytest.raises(InvalidJourney, match="archived"):
        save_journey(workspace=acme, key="welcome", now=timezone.now(), active=True)
    assert "It is switched off." in act(staff, journey, "restore")
    journey.refresh_from_db()
    assert (journey.archived_at, journey.active) == (None, False)
    assert [who for who, _, _ in told("journey")] == ["", "", *["root"] * 3]  # nothing of the second archiving


def test_a_copy_has_the_steps_and_the_rules_and_is_switched_off(
    staff: Client, acme: Workspace, journey: Journey
) -> None:
    Journey.objects.filter(pk=journey.pk).update(max_entries_per_customer=3)
    assert "This is a copy of Welcome." in act(staff, journey, "duplicate", key="welcome-2")
    copy = Journey.objects.get(key="welcome-2")
    assert (copy.name, copy.active, copy.revision) == ("Welcome (copy)", False, 1)
    assert copy.max_entries_per_customer == 3
    content = JourneyRevision.objects.get(journey=copy)
    assert (content.steps, content.exit_on) == ([WAIT, CALL], [{"event": "bought"}])
    for key, why in (("welcome-2", "already"), ("", "key"), ("no spaces", "key")):
        assert why in act(staff, journey, "duplicate", key=key)
    assert Journey.objects.filter(workspace=acme).count() == 2


def test_a_rollback_makes_a_new_revision(staff: Client, journey: Journey) -> None:
    assert "Rolled back to revision 1: this is revision 3." in act(staff, journey, "roll-back", number=1)
    assert list(JourneyRevision.objects.order_by("number").values_list("number", "steps")) == [
        (1, [WAIT]),
        (2, [WAIT, CALL]),
        (3, [WAIT]),
    ]
    assert "Revision 1 is what the journey has now." in act(staff, journey, "roll-back", number=1)
    for number in (9, "x", ""):
        assert "there is no revision" in act(staff, journey, "roll-back", number=number)
    assert JourneyRevision.objects.count() == 3


def test_the_page_of_a_revision_shows_what_differs_from_another(staff: Client, journey: Journey) -> None:
    first, second = JourneyRevision.objects.order_by("number")
    page = unescape(staff.get(page_url(second)).content.decode())
    assert '+    "id": "call",' in page
    assert '+    "event": "bought"' in page
    assert '-    "id": "wait"' not in page
    assert "Roll back to this revision" in page
    page = unescape(staff.get(page_url(first), {"from": "2"}).content.decode())
    assert '-    "id": "call",' in page
    staff.post(page_url(journey).replace("/change/", "/roll-back/"), {"number": 1})
    third = JourneyRevision.objects.get(number=3)
    assert "They have the same steps and exits." in staff.get(page_url(third), {"from": "1"}).content.decode()


def test_who_may_only_look_keeps_nothing_and_sees_no_credentials(onlooker: Client, journey: Journey) -> None:
    page = onlooker.get(page_url(journey)).content.decode()
    assert [text in page for text in ("/archive/", "/duplicate/", "How to trigger it")] == [False, False, True]
    page = onlooker.get(page_url(JourneyRevision.objects.get(number=2))).content.decode()
    assert "hush" not in page
    assert "Roll back" not in page
    for what in ("archive", "restore", "duplicate", "roll-back"):
        path = page_url(journey).replace("/change/", f"/{what}/")
        assert onlooker.post(path, {"number": 1, "key": "x"}).status_code == 403
    journey.refresh_from_db()
    assert (journey.active, journey.revision, Journey.objects.count()) == (True, 2, 1)


def test_who_may_not_view_customers_neither_copies_nor_rolls_back(journey: Journey) -> None:
    client = staff_with("change_journey", "add_journey", "view_workspace", "view_journeyrevision")
    for what in ("duplicate", "roll-back"):
        path = page_url(journey).replace("/change/", f"/{what}/")
        assert client.post(path, {"number": 1, "key": "x"}).status_code == 403
    assert "Archived." in act(client, journey, "archive")


def test_a_member_of_another_workspace_keeps_nothing(journey: Journey, rival: Workspace) -> None:
    client = member("neighbour", rival="admin")
    for what in ("archive", "restore", "duplicate", "roll-back"):
        path = page_url(journey).replace("/change/", f"/{what}/")
        assert client.post(path, {"number": 1, "key": "x"}).status_code == 404
    assert (Journey.objects.count(), JourneyRevision.objects.count()) == (1, 2)


def test_the_programs_on_the_page_trigger_the_journey(
    staff: Client, server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    event = JourneyFactory.create(workspace=acme, trigger_type="event", event_name="it's paid")
    for one in (journey, event):
        page = staff.get(page_url(one)).content.decode()
        curl, python = map(unescape, re.findall(r'<pre class="[^"]*engage-copy">(.*?)</pre>', page, re.DOTALL))
        words = shlex.split(curl)
        url, body = words[2], json.loads(words[words.index("-d") + 1])
        (told,) = re.findall(r"^body = (.*)$", python, re.MULTILINE)
        assert ast.literal_eval(told) == body
        ast.parse(python)
        assert json.dumps(url) in python
        assert server.post(url.removeprefix("http://testserver"), body).status_code == 202
