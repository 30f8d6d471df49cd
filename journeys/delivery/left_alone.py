"""What is left alone at the moment because it keeps failing: a card on the overview and on a journey's own page."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from engage.admin.parts.columns import link, may_view, moment
from engage.admin.rights.reach import reach_of
from engage.models import Workspace
from journeys.engine.webhooks.sources import connection_of, subscription_of
from journeys.engine.webhooks.waiting import LeftAlone, left_alone
from journeys.models import Connection, Journey, WebhookDelivery

MOST = 20


@dataclass(frozen=True, kw_only=True)
class LeftAloneCard:
    """A host, or a step at a host. `what` names it; `circuit` is posted to have it tried now."""

    what: SafeString
    workspace: str
    since: SafeString | None
    because: str
    workspace_id: str
    host: str
    source: str | None


def left_alone_now(request: HttpRequest, *, journey: Journey | None = None) -> list[LeftAloneCard]:
    """At most MOST, of the workspaces that this member of staff sees; of a journey, its steps and their hosts."""
    if not may_view(WebhookDelivery, request=request):
        return []
    workspaces = reach_of(request.user).workspaces if journey is None else [journey.workspace_id]
    found = left_alone(workspaces=workspaces, at_most=MOST)
    if journey is not None:
        found = [one for one in found if one.step is not None and one.step[0] == journey.id]
    sees_journeys, sees_workspaces = may_view(Journey, request=request), may_view(Workspace, request=request)
    journeys = Journey.objects.in_bulk({one.step[0] for one in found if one.step}) if sees_journeys else {}
    sends = {connection_id for one in found if one.source and (connection_id := connection_of(one.source))}
    connections = Connection.objects.in_bulk(sends) if sends and may_view(Connection, request=request) else {}
    named = Workspace.objects.in_bulk({one.workspace_id for one in found}) if sees_workspaces else {}
    return [
        LeftAloneCard(
            what=_what(one, journeys, connections),
            workspace=str(named.get(one.workspace_id, "")),
            since=moment(one.since),
            because=one.because,
            workspace_id=one.workspace_id,
            host=one.host,
            source=one.source,
        )
        for one in found
    ]


def may_try_now(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("journeys.change_webhookdelivery"))


def _what(one: LeftAlone, journeys: dict[str, Journey], connections: dict[str, Connection]) -> SafeString:
    if one.source is not None and (connection_id := connection_of(one.source)):
        connection = connections.get(connection_id)
        return format_html("the connection {} to {}", link(connection) if connection else "", one.host)
    if one.source is not None and subscription_of(one.source):
        return format_html("a subscription to {}", one.host)
    if one.step is None:
        return format_html("{}", one.host) if one.source is None else format_html("others to {}", one.host)
    journey_id, step_id = one.step
    journey = journeys.get(journey_id)
    return format_html("the step {} of {} to {}", step_id, link(journey) if journey else "a journey", one.host)
