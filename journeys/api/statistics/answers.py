"""Response bodies about whole journeys, as the API spells them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from engage.database.object_ids import ObjectId
from engage.http.spelling import spelled
from engage.json.instants import Instant
from engage.json.keywords import Keywords, known
from journeys.api.statistics.serializers import INTERVALS, MOST_BUCKETS, StatsQuery
from journeys.counts.stats import JourneyStats
from journeys.design.warnings import DefinitionWarning
from journeys.models import EnrollmentJob, JourneyRevision
from journeys.steps.definition import STEP_TYPES
from journeys.steps.graph import Graph, mermaid_of
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED

STATS_MESSAGE = "The journey's statistics."
GRAPH_MESSAGE = "The journey's steps as a graph."
_NODE = f"A step's id, or `{ENTRY}`, `{COMPLETED}` or `{EXITED}`."
_ENTRIES = Annotated[
    Mapping[str, int],
    "The number of jobs decided, by result. Only `enrolled` belongs to a revision.",
    Keywords(propertyNames={"type": "string", **known(EnrollmentJob.Result.values).schema}),
]


class GraphNodeData(TypedDict):
    """A step, or where customers enter or end."""

    id: Annotated[str, _NODE]
    type: Annotated[str, "The step's type.", known(["entry", *STEP_TYPES, "completed", "exited"])]
    label: Annotated[str, "What it does, in words; at most 200 characters."]


class GraphEdgeData(TypedDict):
    """A way from one node to another."""

    source: Annotated[str, _NODE]
    target: Annotated[str, _NODE]
    label: Annotated[str, "When it is taken, in words; empty if always."]


class WarningData(TypedDict):
    """What may not be meant in a definition, though it may be saved."""

    place: Annotated[str, "The place in the definition that it is about, such as `steps[2]`."]
    message: Annotated[str, "What is the matter, in a sentence."]


class JourneyGraphData(TypedDict):
    """The steps of one revision as a graph."""

    journeyId: Annotated[ObjectId, "The journey's id."]
    revision: Annotated[int, "The number of the revision.", Keywords(minimum=1)]
    nodes: Annotated[list[GraphNodeData], "The steps in order, between the entry and the two ends."]
    edges: Annotated[list[GraphEdgeData], "The ways between the nodes; at most one from one node to another."]
    warnings: Annotated[list[WarningData], "What may not be meant, such as a step that nobody can reach."]
    exits: Annotated[list[str], "What ends an enrollment whichever step it is at, in words."]
    mermaid: Annotated[str | None, "The graph as a Mermaid flowchart if `format=mermaid` was sent; otherwise null."]


class JourneyOutcomesData(TypedDict):
    """What became of enrollments."""

    active: Annotated[int, "How many are inside now, whatever the time asked for."]
    completed: int
    exited: int


class StepStatsData(TypedDict):
    """What happened in one step."""

    entered: Annotated[int, "How often it was begun."]
    waiting: Annotated[int, "How many wait in it now, whatever the time asked for."]
    done: int
    failed: int
    interrupted: Annotated[int, "How often the enrollment ended while the step was waiting."]


class EdgeCountData(TypedDict):
    """How many went from one node to another."""

    source: Annotated[str, _NODE]
    target: Annotated[str, _NODE]
    count: int


class StatsBucketData(TypedDict):
    """What happened from one instant to before another."""

    begin: Instant
    end: Instant
    entries: _ENTRIES
    completed: int
    exited: int


class JourneyStatsData(TypedDict):
    """Counts of what a journey did, exact at the moment of the answer."""

    journeyId: Annotated[ObjectId, "The journey's id."]
    revision: Annotated[int | None, "The revision counted; null for all."]
    begin: Annotated[Instant | None, "From when on, at a full hour; null for ever."]
    end: Annotated[Instant | None, "Before when, at a full hour; null for now."]
    interval: Annotated[str, known(INTERVALS)]
    timezone: str
    queued: Annotated[int, "The number of jobs that wait for their decision now, whatever the time and the revision."]
    entries: _ENTRIES
    outcomes: JourneyOutcomesData
    steps: Annotated[Mapping[str, StepStatsData], "What happened in each step that was ever begun, by its id."]
    edges: list[EdgeCountData]
    series: Annotated[
        list[StatsBucketData],
        "A bucket for each hour, day or week in order; empty for the interval `none`.",
        Keywords(maxItems=MOST_BUCKETS),
    ]


def graph_data(
    revision: JourneyRevision, graph: Graph, warnings: Sequence[DefinitionWarning], *, mermaid: bool
) -> JourneyGraphData:
    return spelled(
        JourneyGraphData,
        graph,
        journeyId=revision.journey_id,
        revision=revision.number,
        nodes=[spelled(GraphNodeData, node) for node in graph.nodes],
        edges=[spelled(GraphEdgeData, edge) for edge in graph.edges],
        warnings=[spelled(WarningData, warning) for warning in warnings],
        mermaid=mermaid_of(graph) if mermaid else None,
    )


def stats_data(journey_id: str, query: StatsQuery, stats: JourneyStats) -> JourneyStatsData:
    return spelled(
        JourneyStatsData,
        query,
        journeyId=journey_id,
        queued=stats.queued,
        entries=stats.entries,
        outcomes=spelled(JourneyOutcomesData, stats),
        steps={step_id: spelled(StepStatsData, step) for step_id, step in sorted(stats.steps.items())},
        edges=[
            {"source": source, "target": target, "count": number}
            for (source, target), number in sorted(stats.edges.items())
        ],
        series=[spelled(StatsBucketData, bucket) for bucket in stats.series],
    )
