"""`GET …/graph` and `GET …/stats`: a journey as a whole."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection

from engage.models import Workspace
from journeys.engine.counts.counting import fold
from journeys.models import Journey, JourneyRevision
from tests.support.calls import data, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import PRO, JourneyFactory, crowd

STEPS: list[Any] = [{"id": "day", "type": "delay", "for": "P1D"}, {"id": "out", "type": "exit", "reason": "Over."}]
pytestmark = pytest.mark.journey(steps=STEPS)


def get(server: ServerClient, journey: Journey, what: str) -> dict[str, Any]:
    return data(server.get(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/{what}"), status=200)


def test_the_graph_is_that_of_the_current_revision_or_of_one_before(server: ServerClient, journey: Journey) -> None:
    JourneyRevision.objects.create(workspace_id=journey.workspace_id, journey=journey, number=2, steps=STEPS[1:])
    Journey.objects.update(revision=2, active=False)
    now, before = get(server, journey, "graph"), get(server, journey, "graph?revision=1")
    assert [node["id"] for node in now["nodes"]] == ["@entry", "out", "@completed", "@exited"]
    assert [node["id"] for node in before["nodes"]] == ["@entry", "day", "out", "@completed", "@exited"]
    assert before["edges"][1] == {"source": "day", "target": "out", "label": ""}
    assert (now["revision"], now["mermaid"]) == (2, None)


def test_the_graph_warns_of_steps_that_nobody_can_reach(server: ServerClient, acme: Workspace) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "call", "type": "webhook", "url": "https://mail.example/", "next": "which"},
        {"id": "lost", "type": "delay", "for": "P1D", "next": "too"},
        {"id": "which", "type": "branch", "cases": [{"if": PRO, "next": "wait"}], "else": None},
        {"id": "too", "type": "update_profile", "attributes": {"a": 1}, "next": "lost"},
        {"id": "wait", "type": "wait_for_event", "event": "e", "timeout": "P1D", "onEvent": "out", "onTimeout": "half"},
        {"id": "out", "type": "exit", "reason": "Over."},
        {"id": "half", "type": "split", "paths": [{"weight": 1, "next": "tell"}, {"weight": 1, "next": None}]},
        {"id": "tell", "type": "track_event", "eventName": "told"},
    ]
    graph = get(server, JourneyFactory.create(workspace=acme, steps=steps), "graph")
    assert graph["warnings"] == [
        {
            "place": f"steps[{number}]",
            "message": f"The step '{name}' cannot be reached: no way leads to it from the first step.",
        }
        for number, name in ((1, "lost"), (3, "too"))
    ]


def test_the_graph_is_written_for_documents_on_request(server: ServerClient, journey: Journey) -> None:
    assert get(server, journey, "graph?format=mermaid")["mermaid"].startswith('flowchart TD\n  n0(["Entered"])\n')


def test_statistics_count_what_happened_and_who_is_where(
    server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    data(trigger(server, journey, {"external_ids": crowd(acme, 3)}))
    assert get(server, journey, "stats")["queued"] == 3
    let_workers_decide()
    let_workers_walk()
    now = datetime.now(UTC)
    for asked in (
        "",
        "?revision=1",
        f"?from={now.date()}T00:00Z",
        f"?from={now.date()}&interval=hour&timezone=Asia/Tokyo",
    ):
        stats = get(server, journey, f"stats{asked}")
        assert stats["queued"] == 0
        assert stats["entries"] == {"enrolled": 3}
        assert stats["outcomes"] == {"active": 3, "completed": 0, "exited": 0}
        assert stats["steps"] == {
            "day": {"entered": 3, "waiting": 3, "done": 0, "failed": 0, "skipped": 0, "interrupted": 0}
        }
        assert stats["edges"] == [{"source": "@entry", "target": "day", "count": 3}]
    assert [bucket["entries"] for bucket in stats["series"] if bucket["entries"]] == [{"enrolled": 3}]
    earlier = get(server, journey, f"stats?to={now.date()}T00:00Z")
    assert (earlier["entries"], earlier["outcomes"]["active"], earlier["steps"]["day"]["waiting"]) == ({}, 3, 3)


@each("interval", ["hour", "day", "week"])
def test_a_series_until_now_has_all_that_its_sums_have_even_of_an_hour_that_has_only_begun_for_the_database(
    server: ServerClient, acme: Workspace, journey: Journey, interval: str
) -> None:
    data(trigger(server, journey, {"external_ids": crowd(acme, 3)}))
    let_workers_decide()
    moment_before = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(milliseconds=1)
    begin = (moment_before - timedelta(hours=2)).strftime("%Y-%m-%dT%H:00Z")
    with time_machine.travel(moment_before, tick=False):
        stats = get(server, journey, f"stats?from={begin}&interval={interval}")
    assert stats["entries"] == {"enrolled": 3}
    assert stats["series"][-1]["entries"] == {"enrolled": 3}


@each(
    "query, why",
    [
        ("interval=day", "from is required with an interval."),
        ("interval=month", "interval must be one of none, hour, day, week, not 'month'."),
        ("from=yesterday", "from must be a time in ISO 8601 such as 2026-11-20T19:00:00Z."),
        ("from=2026-01-02&to=2026-01-01", "from must be before to, and in the past."),
        ("from=2020-01-01&interval=hour", "The interval divides the time into more than 400 buckets."),
        ("timezone=Mars", "timezone must be an IANA time zone such as Europe/Berlin or UTC."),
        (f"revision={2**31}", "revision must be the number of a revision, from 1."),
        (f"revision={'9' * 5000}", "revision must be the number of a revision, from 1."),
        ("from=9999-12-31", "from must be a time in ISO 8601 such as 2026-11-20T19:00:00Z."),
        ("revision=0", "revision must be the number of a revision, from 1."),
    ],
)
def test_bad_questions_are_refused_with_the_reason(
    server: ServerClient, journey: Journey, query: str, why: str
) -> None:
    answer = server.get(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/stats?{query}")
    assert refused(answer, status=400, error="Invalid request") == why


def test_a_revision_that_is_not_there_is_not_found(server: ServerClient, journey: Journey) -> None:
    for what in ("graph", "stats"):
        path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/{what}?revision=9"
        refused(server.get(path), status=404, error="Revision not found")


_FILL = """
INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
SELECT %s, %s, 1, date_trunc('hour', now()) - hours * interval '1 hour', kind, name, outcome, number
FROM generate_series(1, 24 * 60) AS hours
CROSS JOIN (
    SELECT 'entry', 'enrolled', '', 7000 UNION ALL SELECT 'edge', '@entry', 's1', 7000
    UNION ALL SELECT 'edge', 's' || n, 's' || (n + 1), 7000 FROM generate_series(1, 19) n
    UNION ALL SELECT 'end', 's' || n, 'done', 6900 FROM generate_series(1, 20) n
    UNION ALL SELECT 'edge', 's20', '@completed', 6900
) AS counted(kind, name, outcome, number)
"""


@pytest.mark.slow
def test_statistics_of_ten_million_enrollments_are_quick(
    server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    """Two months, twenty steps, 7,000 an hour: 60,480 counts of hours. The time is that of the best of three."""
    with connection.cursor() as cursor:
        cursor.execute(_FILL, [acme.id, journey.id])
    fold()
    begin = (datetime.now(UTC) - timedelta(days=45, hours=3)).strftime("%Y-%m-%dT%H:00Z")
    for query in ("", f"?from={begin}", f"?from={begin}&interval=day&timezone=Europe/Berlin"):
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            stats = get(server, journey, f"stats{query}")
            seconds.append(time.perf_counter() - started)
        assert stats["entries"]["enrolled"] == (7000 * 24 * 60 if not query else 7000 * (45 * 24 + 3))
        assert min(seconds) < 1  # a fortieth of that on an idle machine; reading all would take many seconds
