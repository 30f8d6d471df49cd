"""Fills a database by SQL, as if a service had run for long: customers and what each of them has lived through.

Of 20 customers 19 are the journey's workspace's; the others are of idle workspaces, which have never sent anything. Of
all enrollments, events and webhooks each fiftieth is of one busy person.
"""

from typing import Any

from django.db import connection, transaction

from engage.models import Workspace
from journeys.models import Journey, JourneyRevision
from tests.support.plans import note_statistics

IDLE = 50  # workspaces
_SIZES = {
    "customers_customer": 1.0,
    "journeys_enrollment": 1.5,
    "customers_event": 1.5,
    "journeys_webhookdelivery": 0.6,
}
# Foreign keys are not looked at meanwhile (`session_replication_role`): the rows are made of what is there. Ids begin
# with their second, as the service's do.
_PEOPLE = """
INSERT INTO customers_customer (id, workspace_id, external_id, email, attributes, name)
SELECT lpad(to_hex(1700000000 + n), 8, '0') || left(md5('c' || n), 16),
       CASE WHEN n %% 20 = 0 THEN idle[1 + n / 20 %% cardinality(idle)] ELSE %(acme)s END,
       'past-' || n, 'past-' || n || '@example.com',
       jsonb_build_object('plan', CASE WHEN n %% 4 = 0 THEN 'pro' ELSE 'free' END, 'city', md5(n::text),
                          'name', 'Past ' || n, 'notes', repeat(md5(n::text), 4)), 'Past ' || n
FROM generate_series(1, %(customers)s) AS n, (
    SELECT array_agg(id ORDER BY id) AS idle FROM engage_workspace WHERE key LIKE 'idle-%%'
) AS others
"""
_PAST = """
CREATE TEMPORARY TABLE past AS
SELECT n, lpad(to_hex(1700000000 + n / 10), 8, '0') || left(md5('e' || n), 16) AS id,
       CASE WHEN n %% 50 = 0 THEN %(busy)s ELSE one.id END AS customer_id,
       now() - (%(number)s - n) * interval '1 second' AS at
FROM generate_series(1, %(number)s::bigint) AS n
JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM customers_customer
      WHERE workspace_id = %(acme)s) AS one ON one.place = n %% %(people)s
"""
_HISTORY = (
    """
INSERT INTO journeys_trigger (id, workspace_id, journey_id, form, payload, customers, request_id, queued_at, serial)
SELECT id, %(acme)s, %(journey)s, 'bulk', '{}', 1000, 'r', at, nextval('customers_serial') FROM past WHERE n %% 1000 = 1
""",
    """
INSERT INTO journeys_enrollmentjob
    (id, workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason, decided_at)
SELECT %(jobs)s + past.n, %(acme)s, %(journey)s, customer_id, first.id, past.n %% 1000, 1600000000000 + past.n,
       'decided', 'enrolled', '', past.at
FROM past JOIN (SELECT id, n FROM past WHERE n %% 1000 = 1) AS first ON first.n = (past.n - 1) / 1000 * 1000 + 1
""",
    """
INSERT INTO journeys_enrollment
    (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, attempts, steps_begun,
     entered_at, ended_at)
SELECT id, %(acme)s, %(journey)s, customer_id, %(revision)s, %(jobs)s + n, 'completed', '', '', 0, 1, at, at FROM past
""",
    """
INSERT INTO journeys_steprun
    (workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, began_at, ended_at)
SELECT %(acme)s, id, 0, 'call', 'webhook', 'done', 'It is done.', '{}', at, at FROM past
""",
    """
INSERT INTO customers_event (id, workspace_id, customer_id, name, properties, source, occurred_at, created_at, serial)
SELECT id, %(acme)s, customer_id, 'bought', '{"n": 1}', 'api', at, at, nextval('customers_serial') FROM past
""",
    """
INSERT INTO journeys_webhookdelivery
    (id, workspace_id, enrollment_id, ordinal, source, host, method, url, body, headers, state, result, attempts,
     due_at, again)
SELECT %(jobs)s + n, %(acme)s, id, 0, 'step:of:call', 'mail.example:443', 'POST', 'https://mail.example/', '{}', '{}',
       'delivered', '', 1, at, false
FROM past WHERE n <= %(webhooks)s
""",
    """
INSERT INTO journeys_webhookattempt (workspace_id, delivery_id, number, at, milliseconds, status, answer, error)
SELECT %(acme)s, %(jobs)s + n, 1, at, 12, 200, '', '' FROM past WHERE n <= %(webhooks)s
""",
    """
INSERT INTO journeys_count (workspace_id, journey_id, grain, begin, revision_id, kind, name, outcome, number)
SELECT %(acme)s, %(journey)s, 'hour', date_trunc('hour', now()) - n * interval '1 hour', %(revision)s, 'entry',
       'enrolled', '', 1000
FROM generate_series(1, least(%(number)s, 10000)) AS n
""",
)
_MEMBERS = """
INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
SELECT workspace_id, %(segment)s, id FROM customers_customer
WHERE workspace_id = %(acme)s AND external_id LIKE 'past-%%0'
"""


def fill(*, customers: int, journey: Journey, segment_id: str, busy: str) -> None:
    """So many customers, with a past in the journey; a tenth of them are in the segment. `busy` is the id of one."""
    Workspace.objects.bulk_create(Workspace(key=f"idle-{n}", name=f"Idle {n}") for n in range(IDLE))
    number = int(customers * _SIZES["journeys_enrollment"])
    facts: dict[str, Any] = {
        "acme": journey.workspace_id, "journey": journey.pk, "segment": segment_id, "customers": customers,
        "busy": busy, "jobs": 10_000_000_000, "number": number,
        "revision": JourneyRevision.objects.filter(journey=journey).latest("pk").pk,
        "webhooks": int(customers * _SIZES["journeys_webhookdelivery"]),
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_PEOPLE, facts)
        cursor.execute(
            "SELECT count(*) FROM customers_customer WHERE workspace_id = %s AND starts_with(external_id, 'past-')",
            [journey.workspace_id],
        )
        (facts["people"],) = cursor.fetchone()
        for statement in (_PAST, *_HISTORY, _MEMBERS):
            cursor.execute(statement, facts)
        cursor.execute("DROP TABLE past")
    note_statistics()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
