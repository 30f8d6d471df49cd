"""Staff make and edit segments, and see about how large they are."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from customers.audience.segments import count_belonging
from customers.models import Customer, Segment, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.database.sql import Statement
from engage.models import Workspace
from tests.admin.staff import member, staff_with
from tests.support.cases import each
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
    assert box(page) == '{\n  "field": "customer.plan",\n  "op": "eq",\n  "value": "é"\n}'
    page = staff.post(page_url(segment), said(_continue=""), follow=True).content.decode()
    assert box(page) == ""
    segment.refresh_from_db()
    assert segment.conditions is None


@each(
    "conditions, why",
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
    assert "3, counted just now" in page
    for one in Customer.objects.all():
        assert (page_url(one) in page) == (one == put_in or (one.workspace == acme and bool(one.attributes)))


def test_stored_conditions_that_cannot_be_read_can_be_mended(staff: Client, acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme, key="vip", conditions={"all": [PRO | {"op": "like"}]})
    page = unescape(staff.get(page_url(segment)).content.decode())
    assert f"segment '{segment.id}' (vip) are invalid: conditions.all[0].op must be one of eq, " in page
    staff.post(page_url(segment), said(conditions=PRO))
    segment.refresh_from_db()
    assert segment.conditions == PRO


@pytest.mark.slow
def test_who_came_long_ago_is_counted(staff: Client, acme: Workspace) -> None:
    CustomerFactory.create_batch(3, workspace=acme, attributes={"plan": "pro"})
    segment = SegmentFactory.create(workspace=acme)
    crowd(acme, 1_200, segment=segment)
    page = staff.get(page_url(SegmentFactory.create(workspace=acme, conditions=PRO))).content.decode()
    assert "3, counted just now" in page
    shown = staff.get(page_url(segment))
    assert "1,203, counted just now" in shown.content.decode()
    assert len(shown.context["belonging"]["rows"]) == 50


@pytest.mark.slow
def test_what_takes_too_long_is_counted_as_far_as_time_lasts_and_that_is_told(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "SELECT count(*) FROM ({everybody}) AS one, pg_sleep(9)"
    monkeypatch.setattr("customers.audience.segments._COUNT", Statement(slow))
    segment = SegmentFactory.create(workspace=acme, conditions=PRO)
    CustomerFactory.create_batch(7, workspace=acme, attributes={"plan": "pro"})
    assert count_belonging(segment, seconds=2) == (7, True)  # part by part, in what was left of the time
    one_by_one = """SELECT count(*) FILTER (WHERE {belongs}), max(id) FROM (
        SELECT * FROM customers_customer WHERE workspace_id = {workspace_id} AND id > {after}
        ORDER BY id LIMIT {part} / 5000
    ) customer, pg_sleep(0.2)"""
    monkeypatch.setattr("customers.audience.segments._COUNT_PART", Statement(one_by_one))
    number, is_all = count_belonging(segment, seconds=1)
    assert not is_all
    assert number < 7
    monkeypatch.setattr("customers.admin.segments.COUNTING_SECONDS", 0.5)
    assert "at least " in staff.get(page_url(segment)).content.decode()


def counted(client: Client, at: str, conditions: Any, **more: str) -> Any:
    """What the page is told of these conditions, which are not saved; the status where it is told nothing."""
    answer = client.post(at, {"conditions": json.dumps(conditions), **more})
    return answer.json() if answer.status_code == 200 else answer.status_code


def test_conditions_are_counted_while_they_are_written(staff: Client, acme: Workspace, rival: Workspace) -> None:
    put_in = CustomerFactory.create(workspace=acme)
    CustomerFactory.create_batch(2, workspace=acme, attributes={"plan": "pro"})
    CustomerFactory.create(workspace=rival, attributes={"plan": "pro"})
    segment = SegmentFactory.create(workspace=acme, members=[put_in])
    own, new = page_url(segment).replace("/change/", "/count/"), "/admin/customers/segment/count/"
    assert counted(staff, own, PRO) == {"told": "3, counted just now"}
    assert counted(staff, own, None) == {"told": "1, counted just now"}
    assert counted(staff, new, PRO, workspace=acme.id) == {"told": "2, counted just now"}
    for conditions, place in (({"all": [PRO, {}]}, "conditions.all[1]"), ("{", "conditions"), ([], "conditions")):
        assert [one["place"] for one in counted(staff, own, conditions)["mistakes"]] == [place]
    assert "is not JSON" in staff.post(own, {"conditions": "{"}).json()["mistakes"][0]["message"]
    segment.refresh_from_db()
    assert segment.conditions is None


def test_only_who_may_write_them_and_see_customers_counts_conditions(acme: Workspace, rival: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme)
    own, new = page_url(segment).replace("/change/", "/count/"), "/admin/customers/segment/count/"
    edits = staff_with("view_segment", "add_segment", "change_segment", "view_workspace")
    assert [counted(edits, at, PRO, workspace=acme.id) for at in (own, new)] == [403, 403]
    for role, (is_told, of_another) in {"viewer": (403, 403), "support": (403, 403), "author": (0, 404)}.items():
        client = member(role, acme=role)
        for at in (own, new):
            told = counted(client, at, PRO, workspace=acme.id)
            assert told == (is_told or {"told": "0, counted just now"}), (role, at)
        assert counted(client, new, PRO, workspace=rival.id) == of_another
    stranger = member("stranger", rival="author")
    assert [counted(stranger, at, PRO, workspace=acme.id) for at in (own, new)] == [404, 404]


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


def test_who_may_only_look_has_the_form_in_which_nothing_can_be_changed(acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions=PRO)
    page = staff_with("view_segment").get(page_url(segment)).content.decode()
    ((form, text),) = re.findall(
        r'<textarea id="id_conditions"[^>]* readonly[^>]* data-form="(.*?)">(.*?)<', page, re.DOTALL
    )
    assert json.loads(unescape(form))["roots"] == ["customer"]
    assert json.loads(unescape(text)) == PRO
    assert ' name="conditions"' not in page
