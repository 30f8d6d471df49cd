"""The calls about whole journeys in the OpenAPI document."""

from functools import partial

from drf_spectacular.utils import OpenApiParameter

from engage.errors import InvalidRequest
from engage.schema.calls import WORKSPACE_ID, ServerCall, path_id
from engage.schema.responses import Answer
from journeys.api.statistics import answers, examples
from journeys.api.statistics.serializers import FORMATS, INTERVALS, MOST_BUCKETS
from journeys.api.triggers.examples import JOURNEY
from journeys.enrollments.revisions import RevisionNotFound
from journeys.entering.trigger import JourneyNotFound

_call = partial(ServerCall, tag="Journeys")
_JOURNEY_ID = path_id("journey_id", "The journey's id. The journey may be inactive.")
_REVISION = {"type": "integer", "minimum": 1}
_INSTANT = {"type": "string", "format": "date-time"}

describe_graph = _call(
    operation_id="getJourneyGraph",
    summary="Get a journey's steps as a graph",
    description="""
Returns the steps of a revision as nodes and edges with labels in words, to be drawn. The statistics count by the same
nodes and edges; an enrollment may also end at any step, for example because of an event, and these ways to `@exited`
are counted but not drawn.
""",
    parameters=[
        WORKSPACE_ID,
        _JOURNEY_ID,
        OpenApiParameter("revision", _REVISION, description="The number of a revision; the current one by default."),
        OpenApiParameter(
            "format", str, enum=FORMATS, default="json", description="`mermaid` to get a Mermaid flowchart, too."
        ),
    ],
    answers=Answer(
        data=answers.JourneyGraphData,
        description="The graph.",
        examples={
            "A wait and a webhook": (answers.GRAPH_MESSAGE, examples.GRAPH),
            "As a Mermaid flowchart": (answers.GRAPH_MESSAGE, examples.MERMAID),
        },
    ),
    refusals=[
        InvalidRequest("format must be one of json, mermaid, not 'svg'."),
        JourneyNotFound(JOURNEY),
        RevisionNotFound(4),
    ],
)

describe_stats = _call(
    operation_id="getJourneyStats",
    summary="Get a journey's statistics",
    description=f"""
Returns how many entered the journey, what became of them, and how many went which way. The counts are exact at the
moment of the answer, by the hour in which something happened. They outlive pruned history and erased customers; a
customer who is erased while inside counts as exited.

`from` is cut to its full hour, and `to` is raised to the next one. Without them, everything since the beginning is
counted. With an `interval`, `from` is required and the answer also has a series of at most {MOST_BUCKETS} buckets; days
begin at midnight in the `timezone`, and weeks on Monday.
""",
    parameters=[
        WORKSPACE_ID,
        _JOURNEY_ID,
        OpenApiParameter("from", _INSTANT, description="Count what happened from then on (ISO 8601)."),
        OpenApiParameter("to", _INSTANT, description="Count what happened before then (ISO 8601)."),
        OpenApiParameter("interval", str, enum=INTERVALS, default="none", description="The length of a bucket."),
        OpenApiParameter("revision", _REVISION, description="Count this revision only; all by default."),
        OpenApiParameter("timezone", str, default="UTC", description="The IANA name of the buckets' time zone."),
    ],
    answers=Answer(
        data=answers.JourneyStatsData,
        description="The statistics.",
        examples={"Two days": (answers.STATS_MESSAGE, examples.STATS)},
    ),
    refusals=[
        InvalidRequest("from is required with an interval."),
        JourneyNotFound(JOURNEY),
        RevisionNotFound(4),
    ],
)
