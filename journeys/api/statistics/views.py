"""The API's views of whole journeys."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from engage.http.envelope import success
from engage.http.views import LookupView
from journeys.api.statistics import answers, schema
from journeys.api.statistics.serializers import read_graph_query, read_stats_query
from journeys.counts.stats import Span, journey_stats
from journeys.design.warnings import warnings_of
from journeys.enrollments.revisions import revision_of
from journeys.entering.trigger import JourneyNotFound, own_journey
from journeys.steps.graph import graph_of


class JourneyGraphView(LookupView):
    """`GET /api/v1/journeys/{workspaceId}/{journeyId}/graph`"""

    @schema.describe_graph
    def get(self, request: Request, workspace_id: str, journey_id: str) -> Response:
        number, mermaid = read_graph_query(request.query_params)
        self.require_own(workspace_id, otherwise=JourneyNotFound(journey_id))
        journey = own_journey(workspace_id=workspace_id, journey_id=journey_id)
        revision = revision_of(journey, number or journey.revision)
        graph = graph_of(revision.steps, revision.exit_on)
        warnings = warnings_of(journey, steps=revision.steps, exit_on=revision.exit_on)
        return success(answers.GRAPH_MESSAGE, answers.graph_data(revision, graph, warnings, mermaid=mermaid))


class JourneyStatsView(LookupView):
    """`GET /api/v1/journeys/{workspaceId}/{journeyId}/stats`"""

    @schema.describe_stats
    def get(self, request: Request, workspace_id: str, journey_id: str) -> Response:
        query = read_stats_query(request.query_params, now=timezone.now())
        self.require_own(workspace_id, otherwise=JourneyNotFound(journey_id))
        journey = own_journey(workspace_id=workspace_id, journey_id=journey_id)
        revision_id = None if query.revision is None else revision_of(journey, query.revision).id
        span = Span(begin=query.begin, end=query.end, revision_id=revision_id, edges=query.edges)
        return success(answers.STATS_MESSAGE, answers.stats_data(journey.id, query, journey_stats(journey, span)))
