"""Customers, members, events and enrollments, page by page: once each, whatever is written meanwhile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.utils import timezone

from customers.models import Customer, Event
from engage.database import parts
from engage.models import Workspace
from journeys.models import Enrollment
from tests.support.calls import data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, SegmentFactory, crowd
from tests.support.plans import note_statistics, rows_gone_through

pytestmark = pytest.mark.django_db
PRO = {"field": "customer.plan", "op": "eq", "value": "pro"}
LIST = "customers/acme/list"
MANY = 3000


def pages(server: ServerClient, path: str, query: str = "", *, limit: int = 2) -> Iterator[Sequence[Mapping[str, Any]]]:
    after = ""
    while True:
        told = data(server.get(f"/api/v1/{path}?limit={limit}{query}{after}"), status=200)
        yield next(value for value in told.values() if isinstance(value, list))
        if told["next"] is None:
            return
        after = f"&after={told['next']}"


def listed(server: ServerClient, path: str, name: str, query: str = "", *, limit: int = 2) -> list[Any]:
    return [one[name] for page in pages(server, path, query, limit=limit) for one in page]


def test_customers_whose_identifier_begins_so(acme: Workspace, rival: Workspace, server: ServerClient) -> None:
    """Whatever a language's order would take apart, or put among them."""
    names = "a A ä á b aé a\u0301b A-b Ab a-b a_b ab abc ab\ue000 ab\U0010ffff ab\U0010ffffz \ud7ffx \ue000 \U0010ffff"
    for name in names.split():
        CustomerFactory.create(workspace=acme, external_id=name)
        CustomerFactory.create(workspace=rival, external_id=name)
    for prefix in ("a", "ab", "a-", "ab\U0010ffff", "\ud7ff", "\U0010ffff", "b", "nobody", "%", "_"):
        wanted = sorted(name for name in names.split() if name.startswith(prefix))
        assert listed(server, LIST, "external_id", f"&identifier=external_id&prefix={quote(prefix)}") == wanted
    CustomerFactory.create(workspace=acme, email="ada@example.com", phone="+49170")
    assert listed(server, LIST, "email", "&identifier=email&prefix=Ada@") == ["ada@example.com"]
    assert listed(server, LIST, "phone", "&identifier=phone&prefix=%2B49") == ["+49170"]


def test_customers_of_a_segment_and_its_members(
    acme: Workspace, rival: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_LOOKED_AT", 3)
    put_in = [CustomerFactory.create(workspace=acme).id for _ in range(3)]
    meeting = [CustomerFactory.create(workspace=acme, attributes={"plan": "pro"}).id for _ in range(3)]
    others = [CustomerFactory.create(workspace=acme).id for _ in range(8)]
    CustomerFactory.create(workspace=rival, attributes={"plan": "pro"})
    members = list(Customer.objects.filter(id__in=put_in))
    SegmentFactory.create(workspace=acme, key="by-hand", members=members)
    SegmentFactory.create(workspace=acme, key="both", members=members, conditions=PRO)
    assert listed(server, LIST, "customerId") == sorted([*put_in, *meeting, *others])
    assert listed(server, LIST, "customerId", "&segment=by-hand") == sorted(put_in)
    assert listed(server, LIST, "customerId", "&segment=both") == sorted([*put_in, *meeting])
    assert listed(server, "customers/acme/segments/both/members", "customerId") == sorted(put_in)


def test_a_customers_events(acme: Workspace, server: ServerClient) -> None:
    ada, eve = (CustomerFactory.create(workspace=acme) for _ in range(2))
    now = timezone.now()
    events = [
        Event(workspace=acme, customer=customer, name="seen", source="api", occurred_at=now - timedelta(seconds=n // 3))
        for customer in (ada, eve)
        for n in range(7)
    ]
    Event.objects.bulk_create(events)
    wanted = sorted(events[:7], key=lambda event: (event.occurred_at, event.id), reverse=True)
    assert listed(server, f"customers/acme/{ada.id}/events", "eventId") == [event.id for event in wanted]


def test_enrollments_by_state_step_and_time(
    acme: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_LOOKED_AT", 3)
    journey = JourneyFactory.create(
        workspace=acme,
        key="welcome",
        steps=[{"id": "day", "type": "delay", "for": "P1D"}, {"id": "week", "type": "delay", "for": "P7D"}],
    )
    data(
        trigger(
            server, journey, {"external_ids": [CustomerFactory.create(workspace=acme).external_id for _ in "x" * 8]}
        )
    )
    let_workers_walk()
    ids = list(Enrollment.objects.order_by("id").values_list("id", flat=True))
    assert len(ids) == 8
    Enrollment.objects.filter(id__in=ids[:2]).update(step_id="week")
    Enrollment.objects.filter(id=ids[7]).update(state="exited", step_began_at=None, due_at=None, exit_reason="Enough.")
    path, now = "journeys/acme/welcome/enrollments", timezone.now()
    an_hour_ago, in_an_hour = (quote((now + timedelta(hours=hours)).isoformat()) for hours in (-1, 1))
    for query, wanted in (
        ("", ids),
        ("&state=exited", ids[7:]),
        ("&step=week", ids[:2]),
        ("&step=day&state=active", ids[2:7]),
        (f"&from={an_hour_ago}&to={in_an_hour}", ids),
        (f"&from={in_an_hour}", []),
        (f"&to={an_hour_ago}", []),
    ):
        assert listed(server, path, "enrollmentId", query) == wanted, query


def test_what_is_written_meanwhile_lists_nobody_twice_and_leaves_nobody_out(
    acme: Workspace, server: ServerClient
) -> None:
    for name in "bdfhj":
        CustomerFactory.create(workspace=acme, external_id=f"x-{name}")
    for query in ("", "&identifier=external_id&prefix=x-"):
        found = []
        for number, page in enumerate(pages(server, LIST, query)):
            found += [one["external_id"] for one in page]
            CustomerFactory.create(workspace=acme, external_id=f"x-a{query[1:3]}{number}")
            Customer.objects.filter(external_id=found[0]).update(attributes={"n": number})
        assert {f"x-{name}" for name in "bdfhj"} <= set(found)
        assert len(set(found)) == len(found)


def test_what_a_list_cannot_be_asked_is_refused(acme: Workspace, server: ServerClient) -> None:
    customer = CustomerFactory.create(workspace=acme)
    JourneyFactory.create(workspace=acme, key="welcome")
    segments, enrollments = "customers/acme/segments/none/members", "journeys/acme/welcome/enrollments"
    for path, status in (
        (f"{LIST}?prefix=a", 400),
        (f"{LIST}?identifier=email", 400),
        (f"{LIST}?identifier=name&prefix=a", 400),
        (f"{LIST}?identifier=email&prefix=", 400),
        (f"{LIST}?identifier=email&prefix=%00", 400),
        (f"{LIST}?identifier=email&prefix=a&segment=pro", 400),
        (f"{LIST}?segment=none", 404),
        (f"{LIST}?segment=%00", 400),
        (f"{LIST}?after=x", 400),
        (f"{LIST}?after=WyJcdTAwMDAiXQ", 400),  # ["\u0000"]
        (f"{LIST}?after=WyJcdWQ4MDAiXQ", 400),  # ["\ud800"]
        (f"{LIST}?limit=201", 400),
        (segments, 404),
        (f"customers/acme/{customer.id}/events?after=WzkwMDcxOTkyNTQ3NDA5OTIsIiJd", 200),  # in the year 2255
        (f"customers/acme/{'f' * 24}/events", 404),
        (f"{enrollments}?state=new", 400),
        (f"{enrollments}?step=%00", 400),
        (f"{enrollments}?from=today", 400),
        ("journeys/acme/none/enrollments", 404),
    ):
        assert server.get(f"/api/v1/{path}").status_code == status, path


@pytest.fixture
def a_large_workspace(acme: Workspace, server: ServerClient) -> Callable[[str], int]:
    """Returns how many rows a first and a second page go through at most, each of 5."""
    segment = SegmentFactory.create(workspace=acme, key="all")
    SegmentFactory.create(workspace=acme, key="everybody", conditions={"field": "customer.plan", "op": "exists"})
    other, journey = (JourneyFactory.create(workspace=acme, key=key) for key in ("other", "welcome"))
    with connection.cursor() as cursor:
        note_statistics("customers_customer", "customers_segmentmembership", "journeys_enrollment", "customers_event")
        crowd(acme, MANY, segment=segment)
        cursor.execute("UPDATE customers_customer SET attributes = '{\"plan\": 1}'")
        cursor.execute(
            "INSERT INTO journeys_enrollment (id, workspace_id, journey_id, customer_id, revision_id, state,"
            " exit_reason, step_id, step_began_at, attempts, entered_at, crowd)"
            " SELECT id, workspace_id, %s, id, %s, 'active', '', 'day', now(), 0, now(), false FROM customers_customer",
            [journey.id, journey.revisions.get().id],
        )
        last: list[Any] = [other.id, other.revisions.get().id, journey.id]
        cursor.execute(
            "UPDATE journeys_enrollment SET journey_id = %s, revision_id = %s WHERE journey_id = %s AND id < 'f'", last
        )
        cursor.execute(
            "INSERT INTO customers_event (id, workspace_id, customer_id, name, properties, source, occurred_at)"
            " SELECT left(md5(n::text), 24), %s, (SELECT max(id) FROM customers_customer), 'seen', '{}', 'api', now() -"
            " n * interval '1 s' FROM generate_series(1, %s) n",
            [acme.id, MANY],
        )

    def most(path: str) -> int:
        with rows_gone_through() as seen:
            begun = pages(server, path.partition("?")[0], path.partition("?")[2], limit=5)
            assert [len(next(begun)), len(next(begun))] == [5, 5]
        return max(rows for sql, rows in seen.items() if "engage_" not in sql)

    return most


def test_a_page_reads_little_however_many_there_are(acme: Workspace, a_large_workspace: Callable[[str], int]) -> None:
    """On statistics of a moment when nobody was there."""
    busy = Customer.objects.order_by("id").last()
    assert busy is not None
    for path in (
        LIST,
        f"{LIST}?&identifier=external_id&prefix=user-1",
        f"{LIST}?&segment=all",
        f"{LIST}?&segment=everybody",
        "customers/acme/segments/all/members",
        f"customers/acme/{busy.id}/events",
        "journeys/acme/welcome/enrollments",
        "journeys/acme/welcome/enrollments?&step=day",
        "journeys/acme/welcome/enrollments?&state=active&from=2020-01-01",
    ):
        assert a_large_workspace(path) < MANY / 10, path
