"""Single triggers at half of what the machine bears, in turn with nothing beside them and while history is pruned."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from signal import SIGTERM

from tests.benchmarks.arrivals import arrivals, call_at, percentile
from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.measures.single import BODY, trigger
from tests.benchmarks.service import CUSTOMERS, Effort, Service
from tests.support.waiting import wait_until

_PAST = 1_000_000  # enrollments of long ago, with a job and two steps each
_SHARE = 0.5
_LOAD_SECONDS = 18
_LEFT = "SELECT count(*) FROM journeys_steprun WHERE enrollment_id < '6'"  # as ids begin in 2021
_FILL = """
WITH past AS (
    SELECT n, lpad(to_hex(1400000000 + n / 1000), 8, '0') || lpad(to_hex(n), 16, '0') AS id, customer.id AS customer_id,
           now() - interval '300 days' AS then
    FROM generate_series(1, %(number)s::bigint) AS n
    JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM customers_customer
          WHERE workspace_id = %(workspace)s) AS customer ON customer.place = n %% %(customers)s
), job AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason, decided_at)
    SELECT %(workspace)s, %(journey)s, customer_id, id, 0, 1400000000000 + n, 'decided', 'enrolled', '', past.then
    FROM past
    RETURNING id, trigger_id
), entry AS (
    INSERT INTO journeys_enrollment
        (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, attempts,
         entered_at, ended_at)
    SELECT past.id, %(workspace)s, %(journey)s, past.customer_id, %(revision)s, job.id, 'completed', '', '', 0,
           past.then, past.then
    FROM past JOIN job ON job.trigger_id = past.id
)
INSERT INTO journeys_steprun
    (workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, began_at, ended_at)
SELECT %(workspace)s, past.id, step, 'step', 'branch', 'done', 'It is done.', '{}', past.then, past.then
FROM past, generate_series(0, 1) AS step
"""


def measure(service: Service, effort: Effort) -> list[Figure]:
    _fill(service)
    numbers, alone, beside = count(), list[float](), list[float]()
    rate = trigger(service, seconds=effort.seconds).per_second * _SHARE
    filled = service.one(_LEFT)
    for _ in range(effort.rounds):
        alone.append(_late(service, rate, numbers))
        with _pruned(service):
            beside.append(_late(service, rate, numbers))
    pruned = (filled - service.one(_LEFT)) / effort.rounds / _LOAD_SECONDS
    return [
        Figure(
            measure=f"99 of 100 single triggers answered, at {rate:.0f} a second, while history is pruned",
            value=middle(beside), unit="ms", beside="while none is", beside_value=middle(alone),
            ratio=middle(beside) / middle(alone), at_most=1.5, notes={"steps pruned /s": pruned},
        )
    ]  # fmt: skip


def _fill(service: Service) -> None:
    """Foreign keys are not looked at meanwhile: the rows are made of what is there."""
    service.settle()
    revision = "SELECT id FROM journeys_journeyrevision WHERE journey_id = %(journey)s"
    named = {"workspace": service.workspace, "journey": service.journey}
    facts = {"customers": CUSTOMERS, "number": _PAST, "revision": service.one(revision, named)}
    service.connection.execute("SET session_replication_role = replica")
    service.connection.execute(_FILL, named | facts)
    service.connection.execute("SET session_replication_role = DEFAULT")
    service.connection.execute("VACUUM ANALYZE journeys_enrollment, journeys_enrollmentjob, journeys_steprun")
    service.connection.execute("CHECKPOINT")


def _late(service: Service, rate: float, numbers: "count[int]") -> float:
    """Milliseconds from the moment of a call until its answer, of all but the slowest hundredth."""
    round_ = next(numbers)
    moments = arrivals(per_second=rate, seconds=_LOAD_SECONDS, seed=str(round_))
    url, headers = service.base + service.trigger_path, service.server_headers
    answered = call_at(moments, url=url, headers=headers, body=partial(_body, round_ * 10_000))
    service.settle()
    return percentile([call.seconds for call in answered], 0.99) * 1000


def _body(first: int, number: int) -> str:
    return BODY.replace("{n}", str((first + number) % CUSTOMERS))


@contextmanager
def _pruned(service: Service) -> Iterator[None]:
    """From its first rows on. Raises AssertionError where it was over before the block was."""
    before = service.one(_LEFT)
    command = [str(service.tree.python), "manage.py", "prune"]
    pruning = subprocess.Popen(command, cwd=service.tree.root, env=service.environment, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: service.one(_LEFT) < before, what="the first rows to go")
        yield
        assert pruning.poll() is None, "Nothing was left to prune."
    finally:
        pruning.send_signal(SIGTERM)
        pruning.wait()
