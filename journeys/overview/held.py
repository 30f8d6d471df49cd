"""What is held at the moment, for a banner: on the overview, on the list of journeys, and on a journey's own page."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from engage.admin.parts.columns import link, may_view, moment
from engage.admin.rights.reach import reachable
from engage.models import Workspace
from journeys.models import Journey, SteeredHost, SteeringAct, Subscription

MOST = 20


@dataclass(frozen=True, kw_only=True)
class Held:
    """A journey or a host that is held: since when, by whom and why. `what` links to it."""

    what: SafeString
    workspace: str
    since: SafeString | None
    by: str
    because: str


def held_now(request: HttpRequest) -> list[Held]:
    """The journeys and hosts that are held, of those that this member of staff may view; at most MOST of each."""
    found: list[QuerySet[Any]] = []
    if may_view(Journey, request=request):
        # Both conditions, for the index of all that are steered.
        steered = Q(held_at__isnull=False) | Q(resumed_at__isnull=False)
        found.append(
            reachable(Journey.objects.filter(steered, held_at__isnull=False).order_by("-held_at"), request=request)
        )
    if may_view(SteeredHost, request=request):
        found.append(reachable(SteeredHost.objects.filter(held_at__isnull=False).order_by("-held_at"), request=request))
    sees_workspaces = may_view(Workspace, request=request)
    return [
        Held(
            what=link(one),
            workspace=str(one.workspace) if sees_workspaces else "",
            since=moment(one.held_at),
            by=one.held_by,
            because=one.held_because,
        )
        for one in chain.from_iterable(
            (kind.select_related("workspace") if sees_workspaces else kind)[:MOST] for kind in found
        )
    ]


def paused_now(request: HttpRequest) -> list[Held]:
    """The subscriptions that are paused, of those that this member of staff may view; at most MOST."""
    if not may_view(Subscription, request=request):
        return []
    paused = Subscription.objects.filter(paused_at__isnull=False).select_related("workspace").order_by("-paused_at")
    sees_workspaces = may_view(Workspace, request=request)
    return [
        Held(
            what=link(one),
            workspace=str(one.workspace) if sees_workspaces else "",
            since=moment(one.paused_at),
            by="",
            because=one.last_failure,
        )
        for one in reachable(paused, request=request)[:MOST]
    ]


def hold_of(journey: Journey) -> dict[str, Any] | None:
    """Since when, by whom and why the journey is held; None if it is not."""
    if journey.held_at is None:
        return None
    return {"since": moment(journey.held_at), "by": journey.held_by, "because": journey.held_because}


def move_of(journey: Journey) -> dict[str, Any] | None:
    """To which revision those inside the journey are being moved, for whom, and how many so far; None if none are."""
    if journey.moves_to is None:
        return None
    acts = SteeringAct.objects.filter(journey=journey, kind=SteeringAct.Kind.MOVE, numbers__revision=journey.moves_to)
    act = acts.order_by("-id").first()
    moved = act.numbers["moved"] if act else 0
    return {"revision": journey.moves_to, "by": act.actor if act else "", "so_far": f"{moved:,}"}
