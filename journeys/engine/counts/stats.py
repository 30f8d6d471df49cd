"""A journey's statistics: sums of its counts, read in a statement or two, whatever the number of its enrollments."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from engage.database.sql import Statement
from engage.json.fields import LEFT_OUT
from engage.json.keywords import Keywords, known
from journeys.models import EnrollmentJob, Journey
from journeys.steps.goals import HELD_OUT, parse_goals
from journeys.steps.graph import NODE
from journeys.steps.kinds import COMPLETED, EXITED

_DAY = timedelta(days=1)
_EVER, _NEVER = datetime(1970, 1, 2, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
_ENDED_AS = ("done", "failed", "skipped", "interrupted")


@dataclass(frozen=True, kw_only=True)
class Span:
    """What is counted: from one full hour to before another (None: since ever, until now), of one revision or of all.

    `edges` are the instants at which the buckets of a series begin, and the last one ends; none without a series.
    """

    begin: datetime | None = None
    end: datetime | None = None
    revision_id: int | None = None
    edges: Sequence[datetime] = ()


Entries = Annotated[
    dict[str, int],
    "The number of jobs decided, by result. Only `enrolled` belongs to a revision.",
    Keywords(propertyNames={"type": "string", **known(EnrollmentJob.Result.values).schema}),
]


@dataclass(frozen=True, kw_only=True)
class StepStats:
    """What happened in one step."""

    entered: Annotated[int, "How often it was begun."]
    waiting: Annotated[int, "How many wait in it now, whatever the time asked for."]
    done: int
    failed: int
    skipped: Annotated[int, "How often it sent nothing, because an input that is required had no value."]
    interrupted: Annotated[int, "How often the enrollment ended while the step was waiting."]
    in_app: Annotated[
        Mapping[str, int] | None,
        "Of an `in_app` step: how many of its messages were `shown`, `acted`, `closed` and `expired`.",
        LEFT_OUT,
    ] = None


@dataclass(frozen=True, kw_only=True)
class EdgeCount:
    """How many went from one node to another."""

    source: Annotated[str, NODE]
    target: Annotated[str, NODE]
    count: int


@dataclass(frozen=True, kw_only=True)
class GoalStats:
    """How many enrollments reached a goal, and where they had been by then."""

    key: str
    count: Annotated[int, "How many reached it."]
    by_step: Annotated[Mapping[str, int], "Of them, how many had begun each step, by its id."]
    by_path: Annotated[Sequence[EdgeCount], "Of them, how many had gone which way from a `branch` or a `split`."]
    held_out: Annotated[int, "How many decisions `held_out` were followed by it. They belong to no revision."]


@dataclass(kw_only=True)
class Bucket:
    """What happened from one instant to before another."""

    schema_name: ClassVar = "StatsBucket"

    begin: datetime
    end: datetime
    entries: Entries = field(default_factory=Counter)
    completed: int = 0
    exited: int = 0


@dataclass(frozen=True, kw_only=True)
class JourneyStats:
    """The sums of a span. `events` are those that started nothing, by reason (entering/by_event.py).

    `queued` are those who wait for their decision now, and `active` those inside now. `edges` are the enrollments that
    went from a node to another (journeys/steps/graph.py).
    """

    queued: int
    events: Mapping[str, int]
    entries: Entries
    active: int
    completed: int
    exited: int
    steps: Mapping[str, StepStats]
    edges: Mapping[tuple[str, str], int]
    goals: Sequence[GoalStats]
    series: Sequence[Bucket]
    hours_since: datetime | None = None


# From when on a journey's counts are kept by the hour, if some are kept by the day alone.
_HOURS_SINCE = Statement("""
SELECT since FROM (
    SELECT coalesce((
        SELECT date_trunc('day', begin, 'UTC') FROM journeys_count WHERE journey_id = {journey_id} AND grain = 'hour'
        ORDER BY begin LIMIT 1
    ), {never}) AS since
) AS kept
WHERE EXISTS (
    SELECT FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'day' AND begin >= {begin} AND begin < least(since, {end})
)
""")
# Whole days, the hours before the first of them, and those after the last: of a time of which no hours are kept, a day
# counts where it begins.
_SUMS = Statement("""
SELECT kind, name, outcome, sum(number) FILTER (WHERE ever)::bigint, sum(number) FILTER (WHERE within)::bigint FROM (
    SELECT revision_id, kind, name, outcome, number, true AS ever, {whole} AS within FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'all'
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'day'
      AND begin >= {first_day} AND begin < {last_day}
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'day'
      AND begin >= {last_day} AND begin < least({end}, {hours_since})
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'hour'
      AND begin >= {begin} AND begin < {first_day}
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'hour'
      AND begin >= {last_day} AND begin < {end}
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, true, hour >= {begin} AND hour < {end}
    FROM journeys_countdelta WHERE journey_id = {journey_id}
) AS counted
WHERE revision_id = coalesce({revision}, revision_id)
GROUP BY kind, name, outcome
""")

_SERIES = Statement(
    """
SELECT width_bucket(begin, {edges}::timestamptz[]), kind, name, outcome, sum(number)::bigint FROM (
    SELECT begin, kind, name, outcome, number FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'hour' AND begin >= {begin} AND begin < {end}
      AND revision_id = coalesce({revision}, revision_id)
    UNION ALL
    SELECT begin, kind, name, outcome, number FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'day' AND begin >= {begin} AND begin < least({end}, {hours_since})
      AND revision_id = coalesce({revision}, revision_id)
    UNION ALL
    SELECT hour, kind, name, outcome, number FROM journeys_countdelta
    WHERE journey_id = {journey_id} AND hour >= {begin} AND hour < {end}
      AND revision_id = coalesce({revision}, revision_id)
) AS counted
WHERE kind = 'entry' OR kind = 'edge' AND outcome IN ('{completed}', '{exited}')
GROUP BY 1, kind, name, outcome
""",
    completed=COMPLETED,
    exited=EXITED,
)

# Of a large trigger, the jobs that are decided are counted as they change (jobs/progress.py).
# And whether somebody entered in an hour before the first that is counted: then not all of the history is counted yet.
_QUEUED = Statement("""
SELECT (SELECT coalesce(sum(CASE WHEN sent.keeps_progress THEN sent.customers - (
           SELECT coalesce(sum(jobs), 0) FROM journeys_triggerprogress noted WHERE noted.trigger_id = sent.id
       ) ELSE (
           SELECT count(*) FROM journeys_enrollmentjob job WHERE job.trigger_id = sent.id AND job.status = 'queued'
       ) END), 0)::bigint
FROM (SELECT DISTINCT trigger_id FROM journeys_chunk WHERE workspace_id = {workspace_id}) AS waiting
CROSS JOIN LATERAL (
    SELECT * FROM journeys_trigger known WHERE known.id = waiting.trigger_id AND known.journey_id = {journey_id} LIMIT 1
) AS sent), EXISTS (
    SELECT FROM (
        SELECT entered_at FROM journeys_enrollment
        WHERE workspace_id = {workspace_id} AND journey_id = {journey_id} ORDER BY id LIMIT 1
    ) AS first
    WHERE entered_at < ALL(
        SELECT begin FROM (
            SELECT begin FROM journeys_count WHERE journey_id = {journey_id} AND grain = 'hour' ORDER BY begin LIMIT 1
        ) AS folded
        UNION ALL SELECT begin FROM journeys_count
        WHERE journey_id = {journey_id} AND grain = 'day' AND begin < coalesce((
            SELECT date_trunc('day', begin, 'UTC') FROM journeys_count
            WHERE journey_id = {journey_id} AND grain = 'hour' ORDER BY begin LIMIT 1
        ), 'infinity')
        UNION ALL SELECT hour FROM journeys_countdelta WHERE journey_id = {journey_id}
    )
)
""")
_INSIDE = Statement("""
SELECT step_id, step_began_at IS NOT NULL, count(*) FROM journeys_enrollment
WHERE workspace_id = {workspace_id} AND journey_id = {journey_id} AND revision_id = coalesce({revision}, revision_id)
  AND state || '' = 'active'
GROUP BY 1, 2
""")


def journey_stats(journey: Journey, span: Span) -> JourneyStats:
    """The journey's statistics. Those of a revision that it never had are all 0."""
    asked = _asked(journey, span)
    rows = _SUMS.rows(**asked)
    ever, within = _Sums((key, number) for *key, number, _ in rows), _Sums((key, number) for *key, _, number in rows)
    ((queued, is_history_missing),) = _QUEUED.rows(workspace_id=journey.workspace_id, journey_id=journey.id)
    inside = _looked_up(journey, span) if is_history_missing else _counted(ever)
    return JourneyStats(
        queued=queued,
        events=within.events,
        entries=within.entries,
        active=inside.active,
        completed=within.into[COMPLETED],
        exited=within.into[EXITED],
        steps=_steps(within, inside.waiting),
        edges=within.edges,
        goals=_goals(journey, within.goals),
        series=_series(asked, span),
        hours_since=None if asked["hours_since"] == _EVER else asked["hours_since"],
    )


class _Sums:
    """Sums by what they count; `into` has those of edges by where they lead."""

    def __init__(self, numbers: Iterable[tuple[Sequence[str], int | None]]) -> None:
        self.entries: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.edges: Counter[tuple[str, str]] = Counter()
        self.into: Counter[str] = Counter()
        self.ends: Counter[tuple[str, str]] = Counter()
        self.in_app: dict[str, dict[str, int]] = {}
        self.goals: dict[str, dict[str, int]] = {}
        for (kind, name, outcome), number in numbers:
            if not number:
                continue
            match kind:
                case "entry":
                    self.entries[name] = number
                case "event":
                    self.events[name] = number
                case "edge":
                    self.edges[name, outcome] = number
                    self.into[outcome] += number
                case "end":
                    self.ends[name, outcome] = number
                case "inapp":
                    self.in_app.setdefault(name, {})[outcome] = number
                case "goal":
                    self.goals.setdefault(name, {})[outcome] = number


@dataclass(frozen=True, kw_only=True)
class _Inside:
    """How many are inside, and how many of them wait in each step, of all that anybody has ever begun."""

    active: int
    waiting: Mapping[str, int]


def _counted(ever: _Sums) -> _Inside:
    return _Inside(
        active=ever.entries["enrolled"] - ever.into[COMPLETED] - ever.into[EXITED],
        waiting={
            step_id: entered - sum(ever.ends[step_id, state] for state in _ENDED_AS)
            for step_id, entered in ever.into.items()
            if step_id not in {COMPLETED, EXITED}
        },
    )


def _looked_up(journey: Journey, span: Span) -> _Inside:
    """Of all rows of the journey, which takes long if it has many: until `count_history` has counted its past."""
    rows = _INSIDE.rows(workspace_id=journey.workspace_id, journey_id=journey.id, revision=span.revision_id)
    return _Inside(
        active=sum(number for _, _, number in rows),
        waiting={step_id: number for step_id, waits, number in rows if waits},
    )


def _steps(within: _Sums, waiting: Mapping[str, int]) -> dict[str, StepStats]:
    begun = [step_id for step_id in {**within.into, **within.in_app} if step_id not in {*waiting, COMPLETED, EXITED}]
    return {
        step_id: StepStats(
            entered=within.into[step_id],
            waiting=waiting.get(step_id, 0),
            **{state: within.ends[step_id, state] for state in _ENDED_AS},
            in_app=within.in_app.get(step_id),
        )
        for step_id in [*waiting, *begun]
    }


def _goals(journey: Journey, counted: Mapping[str, Mapping[str, int]]) -> list[GoalStats]:
    """Those that the journey has, in their order, and then those that it had."""
    keys = [goal.key for goal in parse_goals(journey.goals, stored=True)]
    return [_goal(key, counted.get(key, {})) for key in dict.fromkeys([*keys, *sorted(counted)])]


def _goal(key: str, counted: Mapping[str, int]) -> GoalStats:
    numbers = {tuple(outcome.split()): number for outcome, number in sorted(counted.items())}
    held_out = numbers.pop((HELD_OUT,), 0)
    return GoalStats(
        key=key,
        held_out=held_out,
        count=numbers.get((), 0),
        by_step={ids[0]: number for ids, number in numbers.items() if len(ids) == 1},
        by_path=[EdgeCount(source=ids[0], target=ids[1], count=number) for ids, number in numbers.items() if ids[1:]],
    )


def _asked(journey: Journey, span: Span) -> dict[str, Any]:
    """The statements' parameters. Whole days are read as such, and the hours before and after them."""
    begin, end = span.begin or _EVER, span.end or _NEVER
    first_day = min(_midnight(begin + _DAY - timedelta(microseconds=1)), end)
    whole = span.begin is None and span.end is None
    asked = {"journey_id": journey.id, "begin": begin, "end": end}
    kept = [] if whole else _HOURS_SINCE.column(**asked, never=_NEVER)
    return asked | {
        "whole": whole,
        "revision": span.revision_id,
        "hours_since": kept[0] if kept else _EVER,
        "first_day": first_day,
        "last_day": max(_midnight(end), first_day),
    }


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _series(asked: Mapping[str, Any], span: Span) -> list[Bucket]:
    buckets = [Bucket(begin=begin, end=end) for begin, end in pairwise(span.edges)]
    begins_and_end = {name: asked[name] for name in ("journey_id", "revision", "begin", "end", "hours_since")}
    for place, kind, name, outcome, number in _SERIES.rows(**begins_and_end, edges=list(span.edges)) if buckets else ():
        # Without an end, what the database counted in an hour that this clock has not reached belongs to the last one,
        # as it does to the totals.
        bucket = buckets[min(place, len(buckets)) - 1]
        if kind == "entry":
            bucket.entries[name] += number
        elif outcome == COMPLETED:
            bucket.completed += number
        else:
            bucket.exited += number
    return buckets
