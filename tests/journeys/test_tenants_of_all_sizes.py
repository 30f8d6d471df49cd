"""Plans for any workspace expect one of average size. Calls to a large one read the customers that they name alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from customers.models import Customer, Segment
from engage.models import Workspace
from journeys.engine.enrollments.deliveries import WantedDeliveries, deliveries_page
from journeys.models import Enrollment, Journey
from tests.journeys.webhooks.standing import standing
from tests.support.bridge_calls import click
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import DAY, JourneyFactory, SegmentFactory, crowd
from tests.support.plans import note_statistics

pytestmark = pytest.mark.slow

CUSTOMERS, NAMED = 3000, 50
SMALL_WORKSPACES = 2000
MOST_READ = 1000  # entries of indexes and rows; who reads the whole workspace reads three times as many

_READ = """
SELECT sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))
FROM pg_class, (
    VALUES ('customers_customer'::regclass), ('customers_segmentmembership'), ('customers_event'),
           ('journeys_webhookdelivery'), ('journeys_steprun'), ('journeys_enrollment')
) AS of_many ("table")
WHERE oid = "table" OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = "table")
"""
_SMALL = """
WITH small AS (
    INSERT INTO engage_workspace (id, key, name)
    SELECT left(md5('small' || n), 24), 'small-' || n, 'Small' FROM generate_series(1, %s) n RETURNING id
)
INSERT INTO customers_customer (id, workspace_id, external_id, email, phone, user_id, attributes)
SELECT left(md5(id), 24), id, id, id, id, id, '{}' FROM small
"""
_SMALL_SEGMENTS = """
WITH small AS (
    INSERT INTO customers_segment (id, workspace_id, key, name)
    SELECT left(md5(id), 24), workspace_id, 'small', 'Small' FROM customers_customer WHERE workspace_id <> %s
    RETURNING id, workspace_id
)
INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
SELECT small.workspace_id, small.id, customer.id FROM small JOIN customers_customer customer USING (workspace_id)
"""

_EVENTS = """
INSERT INTO customers_event (id, workspace_id, customer_id, name, properties, source, occurred_at)
SELECT left(md5('event' || customer.id || n), 24), workspace_id, customer.id, 'left', '{"n": 0}', 'api', now()
FROM customers_customer customer, generate_series(1, 3) n
"""


@pytest.fixture
def segment(acme: Workspace) -> Segment:
    return SegmentFactory.create(workspace=acme)


@pytest.fixture
def names(acme: Workspace, segment: Segment) -> list[str]:
    """The external ids of some customers of a large workspace and segment, among thousands of small ones."""
    names = crowd(acme, CUSTOMERS, segment=segment)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute("UPDATE customers_customer SET email = external_id, phone = external_id, user_id = external_id")
        cursor.execute(_SMALL, [SMALL_WORKSPACES])
        cursor.execute(_SMALL_SEGMENTS, [acme.id])
        note_statistics("customers_customer", "customers_segmentmembership")
    return names[:NAMED]


@pytest.fixture(autouse=True)
def _statements_are_prepared_at_once(db: None) -> Iterator[None]:
    connection.ensure_connection()
    usual = connection.connection.prepare_threshold
    connection.connection.prepare_threshold = 0
    yield
    connection.connection.prepare_threshold = usual


@pytest.fixture
def eventful(names: list[str]) -> list[str]:
    """The same, where every customer of every workspace has some events."""
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS)
        note_statistics("customers_event")
    return names


@contextmanager
def reading_little() -> Iterator[None]:
    """No statement of the block reads the customers of the whole workspace."""
    read: dict[str, int] = {}

    def so_far() -> int:
        with connection.connection.cursor() as cursor:
            return int(cursor.execute(_READ).fetchone()[0])

    def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        before = so_far()
        try:
            return execute(sql, params, many, context)
        finally:
            read[sql] = max(read.get(sql, 0), so_far() - before)

    with connection.execute_wrapper(count):
        yield
    sql, most = max(read.items(), key=lambda item: item[1])
    assert 0 < most < MOST_READ, f"{most:,} entries and rows by {sql}"


@contextmanager
def looking_up_events(*, of: int) -> Iterator[None]:
    """For each of so many customers, their latest events are looked up by key, and nothing else of the table is read.

    The entries of an index that is searched by its second column alone are not counted as read, so scans are.
    """

    def scans(index: str) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_get_xact_numscans(%s::regclass)", [index])
            return int(cursor.fetchone()[0])

    before = scans("event_by_serial"), scans("event_by_customer")
    with reading_little():
        yield
    assert (scans("event_by_serial") - before[0], scans("event_by_customer") - before[1]) == (of, 0)


def report(server: ServerClient, workspace: Workspace, names: list[str], event: str, **properties: Any) -> None:
    events = [{"external_id": name, "eventName": event, "eventProperties": properties} for name in names]
    assert data(server.post(customers_path(workspace, "events"), {"events": events}))["recorded"] == len(names)


def test_a_call_for_some(server: ServerClient, journey: Journey, names: list[str]) -> None:
    with reading_little():
        answer = data(trigger(server, journey, {"external_ids": names, "exclude_external_ids": names[:10]}))
    assert answer["customersEnrolled"] == NAMED - 10


def test_a_call_for_some_of_a_segment(
    server: ServerClient, journey: Journey, segment: Segment, names: list[str]
) -> None:
    with reading_little():
        answer = data(trigger(server, journey, {"external_ids": names[:20], "segment_ids": [segment.id]}))
    assert answer["customersEnrolled"] == 20


def test_a_call_for_a_small_segment_but_some(
    server: ServerClient, acme: Workspace, journey: Journey, names: list[str]
) -> None:
    own = SegmentFactory.create(workspace=acme, members=Customer.objects.filter(external_id__in=names))
    with reading_little():
        answer = data(trigger(server, journey, {"segment_ids": [own.id], "exclude_external_ids": names[:20]}))
    assert answer["customersEnrolled"] == NAMED - 20


def test_a_dry_run(server: ServerClient, journey: Journey, segment: Segment, names: list[str]) -> None:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?dryRun=true"
    body = {"external_ids": [*names, "nobody"], "segment_ids": [segment.id], "exclude_external_ids": names[:10]}
    with reading_little():
        answer = data(server.post(path, body), status=200)
    assert answer["found"] == NAMED - 10


def test_a_batch(server: ServerClient, acme: Workspace, names: list[str]) -> None:
    changes = [
        {"external_id": name, "email": f"{name}@example.com", "userId": name, "attributes": {"plan": "pro"}}
        for name in names
    ]
    with reading_little():
        answer = data(server.post(customers_path(acme, "batch"), {"customers": changes}), status=200)
    assert answer["updated"] == NAMED


def test_members(server: ServerClient, acme: Workspace, segment: Segment, names: list[str]) -> None:
    with reading_little():
        path = customers_path(acme, "segments", segment.id, "members")
        answer = data(server.post(path, {"add": names[10:], "remove": names[:10]}), status=200)
    assert answer["removed"] == 10


def test_events(server: ServerClient, acme: Workspace, names: list[str]) -> None:
    with reading_little():
        report(server, acme, names, "bought")


@each("action", ["close", "track_event", "update_profile"])
def test_a_click_by_somebody_of_whom_all_is_known(sdk: SdkClient, names: list[str], action: str) -> None:
    somebody = {"userId": "f" * 24, "external_id": names[0], "email": "nobody@example.com", "phone": names[1]}
    with reading_little():
        what = {"eventName": "clicked", "profileAttributes": {"plan": "pro"}}
        answer = click(sdk, actionType=action, actionData=what, **somebody)
    assert answer.status_code == 200


def test_jobs_whose_customers_have_left_meanwhile(server: ServerClient, acme: Workspace, eventful: list[str]) -> None:
    where = {"field": "event.properties.n", "op": "eq", "value": 1}
    journey = JourneyFactory.create(workspace=acme, steps=[DAY], steps__exit_on=[{"event": "left", "where": where}])
    data(trigger(server, journey, {"external_ids": eventful}))
    report(server, acme, eventful[:20], "left", n=1)
    with looking_up_events(of=NAMED):
        let_workers_decide()
    assert Enrollment.objects.filter(state="exited").count() == 20
    assert Enrollment.objects.filter(state="active").count() == NAMED - 20


def test_waits_that_are_over_as_they_begin(server: ServerClient, acme: Workspace, eventful: list[str]) -> None:
    wait = {"type": "wait_for_event", "timeout": "P1D"}
    steps = [{"id": "a", "event": "opened", **wait}, {"id": "b", "event": "left", **wait}, DAY]
    data(trigger(server, JourneyFactory.create(workspace=acme, steps=steps), {"external_ids": eventful}))
    let_workers_decide()
    with looking_up_events(of=NAMED):
        let_workers_walk()
    for name in ("opened", "left"):
        report(server, acme, eventful[:20], name)
    with looking_up_events(of=20):
        let_workers_walk()
    assert Enrollment.objects.filter(step_id="day").count() == 20


def test_what_was_sent_beside_tenants_who_have_sent_nothing(
    server: ServerClient, acme: Workspace, names: list[str]
) -> None:
    """One look for each of them, and the largest is read no further than a page."""
    standing(acme, "https://mail.example/", number=CUSTOMERS)
    note_statistics("journeys_webhookdelivery", "journeys_steprun", "journeys_enrollment")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    everybody = list(Workspace.objects.values_list("pk", flat=True))
    with reading_little():
        page = deliveries_page(workspaces=everybody, wanted=WantedDeliveries(kinds=["webhook"]), after=None, limit=50)
    assert len(page.deliveries) == 50
    (busy,) = {one.customer_id for one in page.deliveries[:1]}
    with reading_little():
        of_one = deliveries_page(workspaces=[acme.pk], wanted=WantedDeliveries(customer_id=busy), after=None, limit=50)
    assert [one.id for one in of_one.deliveries] == [page.deliveries[0].id]
