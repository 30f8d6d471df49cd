"""Staff make and edit segments, and see about how large they are."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from customers.models import Segment, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.database.sql import Statement
from engage.models import Workspace
from tests.admin.staff import staff_with
from tests.support.clock import later
from tests.support.factories import PRO, CustomerFactory, SegmentFactory, crowd

ADD = "/admin/customers/segment/add/"


def said(**fields: Any) -> dict[str, Any]:
    written = {"name": "VIP", "key": "vip", "conditions": "", **fields}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in written.items()}


def box(page: str) -> str:
    """The text in the box for the conditions."""
    (text,) = re.findall(r'<textarea[^>]* name="conditions"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    return unescape(text).strip()


def test_a_segment_is_made_with_conditions(staff: Client, acme: Workspace) -> None:
    staff.post(ADD, said(workspace=acme.id, conditions=PRO))
    assert list(Segment.objects.values_list("workspace", "key", "name", "conditions")) == [(acme.id, "vip", "VIP", PRO)]


def test_a_segment_without_conditions_has_none(staff: Client, acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions={**PRO, "value": "é"})
    page = staff.get(page_url(segment)).content.decode()
    assert box(page) == '{\n  "op": "eq",\n  "field": "customer.plan",\n  "value": "é"\n}'
    page = staff.post(page_url(segment), said(_continue=""), follow=True).content.decode()
    assert box(page) == ""
    segment.refresh_from_db()
    assert segment.conditions is None


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ({"all": [PRO, {"field": "customer.plan", "op": "is"}]}, "conditions.all[1].op"),
        ({"field": "api.payload.x", "op": "eq", "value": 1}, "conditions.field"),
        ("{", "conditions is not JSON: "),
        ('{\n"all": ?}', " at line 2, column 8."),
        ('{"all', "conditions is not JSON: Unterminated string starting at line 1, column 2."),
        ("[]", "conditions must be"),
    ],
)
def test_bad_conditions_are_refused_with_the_place_and_nothing_is_saved(
    staff: Client, acme: Workspace, conditions: Any, why: str
) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions=PRO, key="old")
    for url in (ADD, page_url(segment)):
        answer = staff.post(url, said(workspace=acme.id, conditions=conditions))
        errors = answer.context["adminform"].form.errors
        assert list(errors) == ["conditions"]
        assert why in errors["conditions"][0]
        if isinstance(conditions, str):
            assert box(answer.content.decode()) == conditions  # as it was typed
    assert list(Segment.objects.values_list("key", "conditions")) == [("old", PRO)]


def test_an_edit_is_dated(staff: Client, acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme)
    segment.refresh_from_db()
    before = segment.updated_at
    staff.post(page_url(segment), said())
    segment.refresh_from_db()
    assert segment.updated_at > before


def test_the_page_says_how_many_belong_to_it(staff: Client, acme: Workspace, rival: Workspace) -> None:
    put_in = CustomerFactory.create(workspace=acme)
    CustomerFactory.create_batch(2, workspace=acme, attributes={"plan": "pro"})
    CustomerFactory.create(workspace=rival, attributes={"plan": "pro"})
    segment = SegmentFactory.create(workspace=acme, conditions=PRO, members=[put_in])
    SegmentFactory.create(workspace=acme, members=[CustomerFactory.create(workspace=acme)])
    page = staff.get(page_url(segment)).content.decode()
    assert "1 customer put into it; 2 of all 4 customers meet the conditions" in page
    assert page_url(put_in) in page


def test_stored_conditions_that_cannot_be_read_can_be_mended(staff: Client, acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme, key="vip", conditions={"all": [PRO | {"op": "like"}]})
    page = unescape(staff.get(page_url(segment)).content.decode())
    assert f"segment '{segment.id}' (vip) are invalid: conditions.all[0].op is 'like'" in page
    staff.post(page_url(segment), said(conditions=PRO))
    segment.refresh_from_db()
    assert segment.conditions == PRO


def test_who_came_long_ago_is_counted(staff: Client, acme: Workspace) -> None:
    CustomerFactory.create_batch(3, workspace=acme, attributes={"plan": "pro"})
    crowd(acme, 1_200)
    page = staff.get(page_url(SegmentFactory.create(workspace=acme, conditions=PRO))).content.decode()
    assert "0 customers put into it; 3 of all 1,203 customers meet the conditions" in page


def test_too_many_to_be_counted_are_tried_on_the_latest_customers_and_that_is_told(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("customers.admin.segments.TRIED_ON", 2)
    slow = "SELECT count({condition}), count(pg_sleep(1)) FROM customers_customer customer"
    monkeypatch.setattr(
        "customers.audience.segments._COUNT", Statement(f"{slow} WHERE workspace_id = {{workspace_id}}")
    )
    monkeypatch.setattr("customers.admin.segments.COUNTING_SECONDS", 0.01)
    segment = SegmentFactory.create(workspace=acme, conditions=PRO)
    for number, (plan, trial) in enumerate(
        (
            ("free", "0 of the latest 1 customer meet"),
            ("pro", "1 of the latest 2 customers meets"),
            ("pro", "2 of the latest 2 customers meet"),
        )
    ):
        with later(seconds=number):
            CustomerFactory.create(workspace=acme, attributes={"plan": plan})
        page = staff.get(page_url(segment)).content.decode()
        assert f"0 customers put into it; {trial} the conditions. This may be wrong for all: they are too many" in page


def test_a_deletion_tells_how_many_leave_a_segment(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    customers = CustomerFactory.create_batch(3, workspace=acme)
    segment = SegmentFactory.create(workspace=acme, members=customers)
    SegmentFactory.create(workspace=acme, members=customers[:1])
    for most, said_of_them in ((3, "3"), (2, "2+")):
        monkeypatch.setattr("customers.admin.segments.COUNTED_BEFORE_DELETION", most)
        page = staff.get(page_url(segment).replace("/change/", "/delete/")).content.decode()
        assert "Delete the segment “VIP”?" in page
        assert f"Customers who are taken out of it: {said_of_them}." in page
        assert "Segments: 1" not in page  # Django knows only what it deletes itself


def test_a_deleted_segment_takes_its_memberships_with_it(staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    segment = SegmentFactory.create(workspace=acme, members=[customer])
    kept = SegmentFactory.create(workspace=acme, members=[customer])
    staff.post(page_url(segment).replace("/change/", "/delete/"), {"post": "yes"})
    assert list(Segment.objects.all()) == [kept]
    assert list(SegmentMembership.objects.values_list("segment", flat=True)) == [kept.id]


def test_who_deleted_a_segment_comes_back_to_the_list(acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme)
    client = staff_with("view_segment", "delete_segment")
    answer = client.post(page_url(segment).replace("/change/", "/delete/"), {"post": "yes"}, follow=True)
    assert answer.redirect_chain == [("/admin/customers/segment/", 302)]
    assert "The segment “VIP” was deleted successfully." in answer.content.decode()
