"""Enrollments that fall due in the same second: how fast they are walked through three steps without a network."""

import time
from typing import Any

from tests.benchmarks.figures import Figure
from tests.benchmarks.service import Effort, Service, call
from tests.support.waiting import wait_until

_PRO = {"field": "customer.plan", "op": "eq", "value": "pro"}
EVERYBODY = {"field": "customer.external_id", "op": "exists"}
_STEPS: list[dict[str, Any]] = [
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "which", "type": "branch", "cases": [{"if": _PRO, "next": None}], "else": "greet"},
    {"id": "greet", "type": "update_profile", "attributes": {"greeting": "Hello {{ customer.external_id }}"}},
    {"id": "halves", "type": "split", "paths": [{"weight": 1, "next": None}, {"weight": 1, "next": None}]},
]
NUMBER = 30_000
_PROCESSES = (2, 1, 4)  # the first one's figure is the measure's, the others' are noted beside it
_BATCH = 500
_STARTING = 6  # seconds

_BARE = """
CREATE TABLE IF NOT EXISTS bare_enrollment (LIKE journeys_enrollment INCLUDING ALL);
CREATE TABLE IF NOT EXISTS bare_run (LIKE journeys_steprun INCLUDING ALL);
TRUNCATE bare_enrollment, bare_run;
INSERT INTO bare_enrollment SELECT * FROM journeys_enrollment WHERE journey_id = %(journey)s
"""
_BARE_WALK = """
WITH due AS (
    SELECT id, workspace_id FROM bare_enrollment WHERE state = 'active' ORDER BY due_at LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
), runs AS (
    INSERT INTO bare_run (workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, began_at)
    SELECT workspace_id, id, step, 'step', 'branch', 'done', 'It is done.', '{}', now()
    FROM due, generate_series(1, 3) AS step
)
UPDATE bare_enrollment SET state = 'completed', due_at = NULL, ended_at = now()
FROM due WHERE due.id = bare_enrollment.id
"""


def measure(service: Service, effort: Effort) -> list[Figure]:
    """For each number of worker processes: 30,000 enrollments whose day is over at once."""
    processes = _PROCESSES[:1] if effort.brief else _PROCESSES
    seeded = service.seed(
        {
            "workspace": {"key": "walks", "name": "Walks"},
            "apiKeys": [{"name": "server", "rateLimit": "10000000/m"}],
            "segments": [{"key": "all", "name": "All", "conditions": EVERYBODY}],
            "journeys": [
                {"key": f"on-{number}", "name": "Walk", "trigger": "api", "steps": _STEPS} for number in processes
            ],
        },
        customers=NUMBER,
    )  # fmt: skip
    rates = {}
    for number in processes:
        journey = seeded["journeys"][f"on-{number}"]
        fill(service, seeded, journey)
        bare = NUMBER / _walk_bare(service, journey)
        service.restart("walk", WALK_CONCURRENCY=str(number))
        time.sleep(_STARTING)
        rates[number] = NUMBER / walk(service, journey)
    service.restart("walk")
    return [
        Figure(
            measure=f"enrollments walked through three steps, {NUMBER:,} due at once", value=rates[2], unit="/s",
            beside="bare SQL, one connection", beside_value=bare, ratio=rates[2] / bare,
            notes={f"{number} processes": rate for number, rate in rates.items()},
        )
    ]  # fmt: skip


def fill(service: Service, seeded: dict[str, Any], journey: str) -> None:
    """Everybody enters, and begins the day's wait."""
    call(
        service.base + f"/api/v1/journeys/{seeded['workspaceId']}/{journey}/trigger",
        {"segment_ids": [seeded["segments"]["all"]]},
        key=seeded["apiKeys"]["server"],
    )
    service.settle(seconds=600)
    ahead = "SELECT NOT EXISTS (SELECT FROM journeys_enrollment WHERE state = 'active' AND due_at < now() + '1 hour')"
    wait_until(lambda: bool(service.one(ahead)), what="everybody to wait", seconds=600)
    service.connection.execute("ANALYZE journeys_enrollment")  # at the worst moment: it says that nobody is due


def walk(service: Service, journey: str) -> float:
    """Seconds from the end of everybody's day until everybody has gone on."""
    started = time.perf_counter()
    service.connection.execute(
        "UPDATE journeys_enrollment SET due_at = now() WHERE journey_id = %s AND state = 'active'", [journey]
    )
    over = """SELECT NOT EXISTS (
        SELECT FROM journeys_enrollment WHERE journey_id = %(journey)s AND state = 'active' AND step_id = 'day'
    )"""
    wait_until(lambda: bool(service.one(over, {"journey": journey})), what="everybody to arrive", seconds=600)
    return time.perf_counter() - started


def _walk_bare(service: Service, journey: str) -> float:
    for statement in _BARE.split(";"):
        service.connection.execute(statement, {"journey": journey} if "%(" in statement else None)
    started = time.perf_counter()
    while service.connection.execute(_BARE_WALK, {"batch": _BATCH}).rowcount:
        pass
    return time.perf_counter() - started
