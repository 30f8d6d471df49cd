"""What an enrollment costs where many have gone before: 10 thousand, a million and 10 million past ones."""

import time
from statistics import median

from tests.benchmarks.figures import Figure
from tests.benchmarks.measures.thousand import bare_drain, ids_of_call
from tests.benchmarks.service import CUSTOMERS, Effort, Service

_LEVELS = (10_000, 1_000_000, 10_000_000)
_BATCH = 1_000_000
_CALLS = 20
_ROUNDS = 5  # drains per level, of which the median counts

# Past enrollments with their jobs, evenly over the customers, in the order in which they would have come. Foreign keys
# are not looked at meanwhile (`session_replication_role`): the rows are made of what is there.
_FILL = """
WITH past AS (
    SELECT n, customer.id AS customer_id, lpad(to_hex(1500000000 + n / 1000), 8, '0') || lpad(to_hex(n), 16, '0') AS id
    FROM generate_series(%(start)s::bigint, %(stop)s::bigint - 1) AS n
    JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM customers_customer
          WHERE workspace_id = %(workspace)s) AS customer ON customer.place = n %% %(customers)s
), job AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason, decided_at)
    SELECT %(workspace)s, %(journey)s, customer_id, lpad(to_hex(n / %(customers)s), 24, '0'), n %% %(customers)s,
           1500000000000 + n, 'decided', 'enrolled', 'The customer entered the journey.', now()
    FROM past
    RETURNING id, customer_id, queued_ms
)
INSERT INTO journeys_enrollment
    (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, attempts,
     entered_at, ended_at)
SELECT past.id, %(workspace)s, %(journey)s, past.customer_id, %(revision)s, job.id, 'completed', '', '', 0, now(), now()
FROM past JOIN job ON job.queued_ms = 1500000000000 + past.n
"""


def measure(service: Service, effort: Effort) -> list[Figure]:
    """At each level: customers from twenty calls of a thousand, until the last is decided, in turn with bare SQL.

    The levels are minutes apart, in which a machine may change its pace. So beside the costs themselves it is told what
    they are in terms of what the same customers cost just then in empty tables.
    """
    costs: dict[int, float] = {}
    floors: dict[int, float] = {}
    filled = 0
    for level in _LEVELS:
        _fill(service, filled, level)
        filled = level
        _microseconds(service)
        pairs = [(_microseconds(service), bare_drain(service) / (_CALLS * 1000) * 1e6) for _ in range(_ROUNDS)]
        costs[level] = median(cost for cost, _ in pairs)
        floors[level] = median(floor for _, floor in pairs)
    relative = {level: costs[level] / floors[level] for level in _LEVELS}
    named = f"an enrollment after {_LEVELS[-1]:,} others"
    return [
        Figure(
            measure=named, value=costs[_LEVELS[-1]], unit="µs", beside="itself, at its cheapest",
            beside_value=min(costs.values()), ratio=max(costs.values()) / min(costs.values()), at_most=1.3,
            notes={f"after {level:,}": f"{costs[level]:.0f}" for level in _LEVELS},
        ),
        Figure(
            measure=f"{named}, in bare SQL", value=relative[_LEVELS[-1]], unit="times",
            beside="itself, at its cheapest", beside_value=min(relative.values()),
            ratio=max(relative.values()) / min(relative.values()), at_most=1.3,
            notes={f"bare SQL after {level:,}": f"{floors[level]:.0f}" for level in _LEVELS},
        ),
    ]  # fmt: skip


def _fill(service: Service, start: int, stop: int) -> None:
    service.settle()
    facts = {
        "workspace": service.workspace,
        "journey": service.journey,
        "customers": CUSTOMERS,
        "revision": service.one(
            "SELECT id FROM journeys_journeyrevision WHERE journey_id = %(journey)s", {"journey": service.journey}
        ),
    }
    service.connection.execute("SET session_replication_role = replica")
    for first in range(start, stop, _BATCH):
        service.connection.execute(_FILL, facts | {"start": first, "stop": min(first + _BATCH, stop)})
    service.connection.execute("SET session_replication_role = DEFAULT")
    service.connection.execute("VACUUM ANALYZE journeys_enrollment, journeys_enrollmentjob")
    service.connection.execute("CHECKPOINT")


def _microseconds(service: Service) -> float:
    """Per customer of twenty calls, from the first call until the last is decided."""
    service.settle()
    started = time.perf_counter()
    for number in range(_CALLS):
        service.trigger({"external_ids": ids_of_call(number)})
    service.settle()
    return (time.perf_counter() - started) / (_CALLS * 1000) * 1e6
