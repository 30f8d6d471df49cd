"""A trigger's page: whose key called, what the call said, and whom it left out."""

import re

import pytest
from django.test import Client
from django.utils.html import strip_tags

from customers.models import Customer, Segment
from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import Journey, Trigger
from tests.admin.staff import staff_with
from tests.support.calls import customers_path, data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, SegmentFactory, crowd


@pytest.fixture
def vip(acme: Workspace, ada: Customer) -> Segment:
    return SegmentFactory.create(workspace=acme, name="VIP", members=[ada])


@pytest.fixture
def called(server: ServerClient, acme: Workspace, journey: Journey, vip: Segment) -> Trigger:
    """A call that names Ada and Grace, who is in no segment, and somebody unknown; and excludes Ada and another."""
    CustomerFactory.create(workspace=acme, external_id="grace")
    body = {
        "external_ids": ["ada", "grace", "<b>nobody</b>"],
        "segment_ids": [vip.id],
        "exclude_external_ids": ["ada", "bobb"],
    }
    return Trigger.objects.get(id=data(trigger(server, journey, body))["triggerId"])


def table_on(client: Client, of: Trigger) -> dict[str, tuple[str, str]]:
    """What the page tells of the call: a number, and which, by what it is about."""
    page = client.get(page_url(of)).content.decode()
    _, found, section = page.partition('id="call"')
    if not found:
        return {}
    cells = [
        strip_tags(cell).strip()
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", section.split("</section>")[0], re.DOTALL)
    ]
    rows = [cells[begin : begin + 3] for begin in range(0, len(cells), 3)]
    return {what: (number, which) for what, number, which in rows}


def test_everybody_whom_the_call_left_out_is_told(staff: Client, server: ServerClient, called: Trigger) -> None:
    assert table_on(staff, called) == {
        "API key": ("-", str(server.key)),
        "external ids named": ("3", ""),
        "segments named": ("1", "VIP"),
        "left out as unknown": ("1", "&lt;b&gt;nobody&lt;/b&gt;"),
        "excluded, but unknown": ("1", "bobb"),
        "excluded": ("1", "ada"),
        "left out as excluded": ("1", "ada"),
        "left out as in none of the segments": ("1", "grace"),
    }


def test_who_may_not_view_customers_segments_and_keys_sees_none_of_them(called: Trigger) -> None:
    assert table_on(staff_with("view_trigger"), called) == {"external ids named": ("3", "")}
    assert table_on(staff_with("view_trigger", "view_segment"), called) == {
        "external ids named": ("3", ""),
        "segments named": ("1", "VIP"),
    }


def test_of_an_erased_customer_the_id_is_shown(
    staff: Client, server: ServerClient, acme: Workspace, called: Trigger, ada: Customer
) -> None:
    data(server.delete(customers_path(acme, ada.id)), status=200)
    assert table_on(staff, called)["left out as excluded"] == ("1", f"{ada.id} (gone)")


def test_of_many_the_first_are_shown(staff: Client, server: ServerClient, acme: Workspace, journey: Journey) -> None:
    crowd(acme, 1)
    body = {"external_ids": ["user-0", *(f"nobody-{n}" for n in range(999))]}
    of = Trigger.objects.get(id=data(trigger(server, journey, body))["triggerId"])
    number, which = table_on(staff, of)["left out as unknown"]
    assert number == "999"
    assert which.startswith("nobody-0, nobody-1, ")
    assert which.endswith("nobody-49 and 949 more")


def test_of_a_call_for_one_the_key_alone_is_told(
    staff: Client, server: ServerClient, journey: Journey, ada: Customer
) -> None:
    of = Trigger.objects.get(id=data(trigger(server, journey, {"external_id": "ada"}))["triggerId"])
    assert table_on(staff, of) == {"API key": ("-", str(server.key))}
    Trigger.objects.update(called_by="")  # as of an event
    assert table_on(staff, of) == {}
