"""In-app messages in the admin: what became of them on a journey's and an enrollment's page, and how they look."""

import json
import re
from html import unescape

from django.test import Client

from bridge.models import Message
from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.engine.in_app.transitions import State
from journeys.engine.in_app.withdrawing import withdraw
from journeys.models import InAppDelivery
from tests.admin.drawn import drawing_in, notes_of, rows_in
from tests.admin.enrollment_page import page_of
from tests.admin.messages import HOSTILE
from tests.admin.staff import staff_with
from tests.bridge.in_app.deliveries import ACTED, CONTENT, CTA, ENDS, OFFER, do, offer
from tests.journeys.walking.stories import walked
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient

_BECAME = re.compile(r"What became of the message.*?</ul>", re.DOTALL)


def became(page: str) -> list[str]:
    """The states in an enrollment's timeline, and what is said of each."""
    found = [re.sub(r"<[^>]+>", " ", one) for part in _BECAME.findall(page) for one in part.split("<li>")[1:]]
    return [re.sub(r"\d{4}-\d\d-\d\d [\d:]+ UTC", "@", " ".join(one.split())) for one in found]


def test_the_map_and_the_timeline_tell_what_became_of_a_message(
    staff: Client, server: ServerClient, acme: Workspace
) -> None:
    offer(acme)
    enrollment = walked(server, acme, [OFFER, ACTED, *ENDS])
    mine = InAppDelivery.objects.get()
    assert became(page_of(staff, enrollment)) == ["due @ until @"]
    do(mine, State.SHOWN)
    do(mine, State.ACTED, action_id="cta")
    let_workers_walk()
    page = page_of(staff, enrollment)
    assert became(page) == ["due @ until @", "shown @", "acted @ cta"]
    assert page_url(mine) in page
    assert became(page_of(staff_with("view_enrollment"), enrollment)) == []
    journey = staff.get(page_url(enrollment.journey)).content.decode()
    assert notes_of(drawing_in(journey, "map-drawing"), "offer") == ["1 went on", "1 shown", "1 acted"]
    assert ["1", "0", "1", *"000", *"1100"] in [row[2:] for row in rows_in(journey, "map") if row[0] == "offer"]

    other = walked(server, acme, [OFFER])
    theirs = InAppDelivery.objects.get(enrollment_id=other.id)
    withdraw(theirs, by="root")
    assert became(page_of(staff, other)) == ["due @ until @", "withdrawn @ Withdrawn by root."]


def frames_of(staff: Client, message: Message) -> list[tuple[str, str, str]]:
    """The frames of a message's page that show it: their width, what they may, and what is in them."""
    page = staff.get(page_url(message)).content.decode()
    assert HOSTILE not in page
    found = re.findall(r'<iframe class="engage-preview" width="(\d+)"[^>]* sandbox="(.*?)" srcdoc="(.*?)"', page)
    return [(width, may, unescape(inside)) for width, may, inside in found]


def test_a_message_is_previewed_as_it_is_drawn_on_a_wide_and_a_narrow_page(staff: Client, acme: Workspace) -> None:
    message = offer(acme, content={**CONTENT, "title": f"{HOSTILE}</script>"})
    frames = frames_of(staff, message)
    assert [frame[:2] for frame in frames] == [("1440", "allow-scripts"), ("390", "allow-scripts")]
    (item,) = re.findall(r'type="application/json">(.*?)</script>', frames[0][2])
    assert json.loads(item) == {
        "messageId": message.key, "kind": "banner", "content": message.content, "actions": [CTA], "forms": [],
    }  # fmt: skip
    custom = offer(acme, key="own", content={"kind": "custom", "data": {"html": "<b>Own</b>"}})
    assert [frame[1:] for frame in frames_of(staff, custom)] == [("", "<b>Own</b>")] * 2
    assert frames_of(staff, offer(acme, key="none", content=None)) == []
