"""The calls about journeys as a whole: their steps as a graph, and counts of what they do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, ClassVar

from django.utils import timezone

from engage.calls.asked import Asked
from engage.calls.call import get
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest
from engage.http.query_strings import whole_number
from engage.json.fields import LEFT_OUT, Parsed
from engage.json.keywords import Keywords, known
from engage.resources.resource import DefinitionWarning
from engage.scopes import Scope
from journeys.engine.counts.buckets import MOST_BUCKETS, Interval, bucket_edges, full_hour, next_full_hour
from journeys.engine.counts.stats import Bucket, EdgeCount, Entries, GoalStats, Span, StepStats, journey_stats
from journeys.engine.enrollments.revisions import RevisionNotFound, revision_of
from journeys.engine.entering.by_event import NotStarted
from journeys.faces.path_ids import ANY_JOURNEY
from journeys.faces.times import FROM, TO
from journeys.journey.warnings import warnings_of
from journeys.models import Journey
from journeys.steps.graph import Edge, Node, graph_of, mermaid_of
from journeys.steps.times_of_day import InvalidTime, parse_timezone


def _revision(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise InvalidRequest("revision must be the number of a revision, from 1.")
    return number


def _timezone(text: str) -> str:
    try:
        parse_timezone(text)
    except InvalidTime as invalid:
        raise InvalidRequest(f"timezone {invalid}") from None
    return text


_NUMBER = (Parsed(_revision), Keywords(type="integer", minimum=1))


class Format(StrEnum):
    JSON = "json"
    MERMAID = "mermaid"


@dataclass(frozen=True, kw_only=True)
class GraphQuery:
    """Which revision, and in which format."""

    revision: Annotated[int | None, "The number of a revision; the current one by default.", *_NUMBER] = None
    format: Annotated[Format, "`mermaid` to get a Mermaid flowchart, too."] = Format.JSON


@dataclass(frozen=True, kw_only=True)
class StatsQuery:
    """What is counted, and in which buckets."""

    begin: Annotated[datetime | None, "Count what happened from then on (ISO 8601).", *FROM] = None
    end: Annotated[datetime | None, "Count what happened before then (ISO 8601).", *TO] = None
    interval: Annotated[Interval, "The length of a bucket."] = Interval.NONE
    revision: Annotated[int | None, "Count this revision only; all by default.", *_NUMBER] = None
    timezone: Annotated[str, "The IANA name of the buckets' time zone.", Parsed(_timezone)] = "UTC"


@dataclass(frozen=True, kw_only=True)
class JourneyGraph:
    """The steps of one revision as a graph."""

    journey_id: Annotated[ObjectId, "The journey's id."]
    revision: Annotated[int, "The number of the revision.", Keywords(minimum=1)]
    nodes: Annotated[Sequence[Node], "The steps in order, between the entry and the two ends."]
    edges: Annotated[Sequence[Edge], "The ways between the nodes; at most one from one node to another."]
    warnings: Annotated[Sequence[DefinitionWarning], "What may not be meant, such as a step that cannot be reached."]
    exits: Annotated[Sequence[str], "What ends an enrollment whichever step it is at, in words."]
    mermaid: Annotated[str | None, "The graph as a Mermaid flowchart if `format=mermaid` was sent; otherwise null."]


_MissedEvents = Annotated[
    Mapping[str, int],
    "Of an event journey: the number of events of its name that it let start nothing, by reason: `where_not_met`, "
    "`from_bridge` (they came from an in-app message, and do not count there), `too_slow` (its `where` takes too much "
    "processor time), or `too_many_starts` (one address had started as many journeys as it may). They belong to no "
    "revision. Events that were decided are in `entries`.",
    Keywords(propertyNames={"type": "string", **known([reason.value for reason in NotStarted]).schema}),
]


@dataclass(frozen=True, kw_only=True)
class JourneyOutcomes:
    """What became of enrollments."""

    active: Annotated[int, "How many are inside now, whatever the time asked for."]
    completed: int
    exited: int


@dataclass(frozen=True, kw_only=True)
class StatsAnswer:
    """Counts of what a journey did, exact at the moment of the answer."""

    schema_name: ClassVar = "JourneyStats"

    journey_id: Annotated[ObjectId, "The journey's id."]
    revision: Annotated[int | None, "The revision counted; null for all."]
    begin: Annotated[datetime | None, "From when on, at a full hour; null for ever."]
    end: Annotated[datetime | None, "Before when, at a full hour; null for now."]
    interval: Interval
    timezone: str
    queued: Annotated[int, "The number of jobs that wait for their decision now, whatever the time and the revision."]
    events: _MissedEvents
    entries: Entries
    outcomes: JourneyOutcomes
    steps: Annotated[Mapping[str, StepStats], "What happened in each step that was ever begun, by its id."]
    edges: Sequence[EdgeCount]
    goals: Annotated[
        Sequence[GoalStats],
        "Those that the journey has, in their order, and others that were reached. Each enrollment counts once, in the "
        "hour in which it reached the goal.",
    ]
    series: Annotated[
        Sequence[Bucket],
        "A bucket for each hour, day or week in order; empty for the interval `none`.",
        Keywords(maxItems=MOST_BUCKETS),
    ]
    hours_since: Annotated[
        datetime | None,
        "Before then, counts are kept by days of UTC alone: a day counts, as a whole, where it begins. Omitted unless "
        "what is asked for has such days.",
        LEFT_OUT,
    ] = None


_GRAPH = JourneyGraph(
    journey_id=ANY_JOURNEY.example,
    revision=3,
    nodes=[
        Node(id="@entry", type="entry", label="Entered"),
        Node(id="day", type="delay", label="Wait 1 day"),
        Node(id="tell", type="webhook", label="POST mail.example/send"),
        Node(id="@completed", type="completed", label="Completed"),
        Node(id="@exited", type="exited", label="Exited"),
    ],
    edges=[
        Edge(source="@entry", target="day", label=""),
        Edge(source="day", target="tell", label=""),
        Edge(source="tell", target="@completed", label=""),
    ],
    warnings=[],
    exits=["The event 'refunded'"],
    mermaid=None,
)
_MERMAID = replace(
    _GRAPH,
    mermaid='flowchart TD\n  n0(["Entered"])\n  n1["day: Wait 1 day"]\n  n2["tell: POST mail.example/send"]\n'
    '  n3(["Completed"])\n  n4(["Exited"])\n  n0 --> n1\n  n1 --> n2\n  n2 --> n3\n',
)
_DAYS = [datetime(2026, 11, day, tzinfo=UTC) for day in (20, 21, 22)]
_STATS = StatsAnswer(
    journey_id=ANY_JOURNEY.example,
    revision=None,
    begin=_DAYS[0],
    end=_DAYS[2],
    interval=Interval.DAY,
    timezone="UTC",
    queued=12,
    events={"where_not_met": 212, "from_bridge": 3},
    entries={"enrolled": 800, "already_enrolled": 40, "held_out": 90},
    outcomes=JourneyOutcomes(active=310, completed=470, exited=20),
    steps={
        "day": StepStats(entered=800, waiting=300, done=480, failed=0, skipped=0, interrupted=20),
        "tell": StepStats(entered=480, waiting=10, done=465, failed=5, skipped=0, interrupted=0),
    },
    edges=[
        EdgeCount(source="@entry", target="day", count=800),
        EdgeCount(source="day", target="@exited", count=20),
        EdgeCount(source="day", target="tell", count=480),
        EdgeCount(source="tell", target="@completed", count=470),
    ],
    goals=[GoalStats(key="bought", count=96, by_step={"day": 96, "tell": 71}, by_path=[], held_out=7)],
    series=[
        Bucket(begin=_DAYS[0], end=_DAYS[1], entries={"enrolled": 500, "already_enrolled": 10}, completed=0, exited=5),
        Bucket(
            begin=_DAYS[1], end=_DAYS[2], entries={"enrolled": 300, "already_enrolled": 30}, completed=470, exited=15
        ),
    ],
)

_of_a_journey = partial(get, scope=Scope.STATS, policy="lookup", tag="Journeys", ids=[ANY_JOURNEY])


@_of_a_journey(
    path="journeys/{workspaceId}/{journeyId}/graph",
    says="The journey's steps as a graph.",
    answer="The graph.",
    examples={"A wait and a webhook": _GRAPH, "As a Mermaid flowchart": _MERMAID},
    refuses=[InvalidRequest("format must be one of json, mermaid, not 'svg'."), RevisionNotFound(4)],
)
def get_journey_graph(asked: Asked[None, GraphQuery], journey: Journey) -> JourneyGraph:
    """Get a journey's steps as a graph

    Returns the steps of a revision as nodes and edges with labels in words, to be drawn. The statistics count by the
    same nodes and edges; an enrollment may also end at any step, for example because of an event, and these ways to
    `@exited` are counted but not drawn.
    """
    revision = revision_of(journey, asked.query.revision or journey.revision)
    graph = graph_of(revision.steps, revision.exit_on)
    return JourneyGraph(
        journey_id=journey.id,
        revision=revision.number,
        nodes=graph.nodes,
        edges=graph.edges,
        warnings=warnings_of(journey, steps=revision.steps, exit_on=revision.exit_on),
        exits=graph.exits,
        mermaid=mermaid_of(graph) if asked.query.format is Format.MERMAID else None,
    )


@_of_a_journey(
    path="journeys/{workspaceId}/{journeyId}/stats",
    says="The journey's statistics.",
    answer="The statistics.",
    examples={"Two days": _STATS},
    refuses=[InvalidRequest("from is required with an interval."), RevisionNotFound(4)],
)
def get_journey_stats(asked: Asked[None, StatsQuery], journey: Journey) -> StatsAnswer:
    """Get a journey's statistics

    Returns how many entered the journey, what became of them, and how many went which way. The counts are exact at the
    moment of the answer, by the hour in which something happened. They outlive pruned history and erased customers; a
    customer who is erased while inside counts as exited.

    `from` is cut to its full hour, and `to` is raised to the next one. Without them, everything since the beginning is
    counted. With an `interval`, `from` is required and the answer also has a series of at most 400 buckets; days begin
    at midnight in the `timezone`, and weeks on Monday. Where that midnight is at no full hour of UTC (Asia/Kolkata),
    they begin at the next one. After some time, 400 days unless your installation says otherwise, hours are summed up
    to days of UTC: `hoursSince` says where that is so.
    """
    query = asked.query
    begin, end = query.begin and full_hour(query.begin), query.end and next_full_hour(query.end)
    edges = bucket_edges(begin, end, query.interval, parse_timezone(query.timezone), now=timezone.now())
    revision_id = None if query.revision is None else revision_of(journey, query.revision).id
    stats = journey_stats(journey, Span(begin=begin, end=end, revision_id=revision_id, edges=edges))
    return StatsAnswer(
        journey_id=journey.id,
        revision=query.revision,
        begin=begin,
        end=end,
        interval=query.interval,
        timezone=query.timezone,
        queued=stats.queued,
        events=stats.events,
        entries=stats.entries,
        outcomes=JourneyOutcomes(active=stats.active, completed=stats.completed, exited=stats.exited),
        steps=dict(sorted(stats.steps.items())),
        edges=[
            EdgeCount(source=source, target=target, count=number)
            for (source, target), number in sorted(stats.edges.items())
        ],
        goals=stats.goals,
        series=stats.series,
        hours_since=stats.hours_since,
    )
