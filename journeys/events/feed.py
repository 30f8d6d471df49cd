"""The call that reads what happens in a workspace."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from customers.api.path_ids import ADA
from engage.calls.asked import Asked
from engage.calls.call import Answered, get
from engage.calls.queries import LIMIT
from engage.database.positions import CursorFromAnotherHistory
from engage.errors import InvalidRequest
from engage.feed import FeedType
from engage.http.paging import place_of, written_place
from engage.json.fields import Parsed, Whole
from engage.scopes import Scope
from journeys.engine.entering.trigger import JourneyNotFound, own_journey_ids
from journeys.engine.feed.reading import (
    BEGINNING,
    FeedEvent,
    FeedOff,
    Place,
    Wanted,
    end_of_feed,
    feed_part,
    require_feed,
)
from journeys.faces.path_ids import ADAS_JOB, JOURNEY_ID, TRIGGER_ID

_MOST_NAMED = 50


def _named(field: str, text: str) -> set[str]:
    names = {name.strip() for name in text.split(",")} - {""}
    if not 1 <= len(names) <= _MOST_NAMED:
        raise InvalidRequest(f"{field} must name from 1 to {_MOST_NAMED}, with commas between them.")
    return names


def _types(text: str) -> Collection[str]:
    names = _named("types", text)
    for name in sorted(names - set(FeedType.values)):
        raise InvalidRequest(f"types must be of {', '.join(FeedType.values)}, not {name[:100]!r}.")
    return names


@dataclass(frozen=True, kw_only=True)
class FeedQuery:
    """After which place, of which types and journeys, and how many at most."""

    after: Annotated[
        Place | None,
        "The `next` of an earlier answer; omit it to begin with the oldest.",
        place_of(int, int, make=Place),
    ] = None
    types: Annotated[
        Collection[str] | None, "The types that are wanted, with commas between them; omit it for all.", Parsed(_types)
    ] = None
    journeys: Annotated[
        Collection[str] | None,
        "The ids or keys of the journeys whose events are wanted, with commas between them; omit it for all.",
        Parsed(partial(_named, "journeys")),
    ] = None
    limit: Annotated[int, LIMIT, Whole(most=1000)] = 100


@dataclass(frozen=True, kw_only=True)
class FeedPage:
    """What happened, the oldest first."""

    events: Sequence[FeedEvent]
    next: Annotated[str, "Send it as `after` for what follows, now or later: nothing is added before it."]


_DECIDED = FeedEvent(
    event_id="evt_6b00b1b1aa4223798a14fef0_1",
    type=FeedType.JOB_DECIDED,
    at=datetime(2026, 11, 20, 19, 8, tzinfo=UTC),
    journey_id=JOURNEY_ID.example,
    customer_id=ADA,
    external_id="ada",
    trigger_id=TRIGGER_ID.example,
    job_id=ADAS_JOB,
    result="enrolled",
    reason="Enrolled.",
)
_COMPLETED = FeedEvent(
    event_id="evt_6b00b1b1aa4223798a14fef1_1",
    type=FeedType.TRIGGER_COMPLETED,
    at=_DECIDED.at,
    journey_id=JOURNEY_ID.example,
    trigger_id=TRIGGER_ID.example,
)
_CURSOR = written_place(1_795_201_680_000_042, 1)
_ANOTHER_HISTORY = CursorFromAnotherHistory(_CURSOR)


@get(
    path="feed/{workspaceId}",
    scope=Scope.FEED,
    policy="lookup",
    tag="Feed",
    says="What happened, the oldest first.",
    answer="A page of events, which is empty if there is nothing new: `Retry-After` then says when to ask again.",
    examples={
        "One decided": FeedPage(events=[_DECIDED, _COMPLETED], next=_CURSOR),
        "Nothing new": Answered(data=FeedPage(events=[], next=_CURSOR), headers={"Retry-After": "1"}),
    },
    refuses=[FeedOff(), _ANOTHER_HISTORY, JourneyNotFound(JOURNEY_ID.example)],
)
def read_feed(asked: Asked[None, FeedQuery]) -> Answered[FeedPage]:
    """Read what happens

    Lists what happens in the workspace if its feed is on: jobs are decided, triggers completed, customers begin and end
    journeys, webhooks fail for good, journeys are held, calls of in-app messages are refused, customers are erased.

    Ask again with `next` as `after`, at once while events come: nothing is missed. An event may be answered more than
    once, with the same `eventId`. Events are kept for 14 days, unless your installation keeps them for longer. A key
    that is limited to journeys reads what is of these alone.
    """
    require_feed(asked.workspace_id)
    query, allowed = asked.query, asked.key.journeys
    journeys = own_journey_ids(asked.workspace_id, query.journeys) if query.journeys else None
    if allowed is not None:
        journeys = [one for one in journeys if one in allowed] if journeys is not None else allowed
    part = feed_part(
        workspace_id=asked.workspace_id,
        wanted=Wanted(types=query.types, journeys=journeys),
        after=query.after or BEGINNING,
        limit=query.limit,
    )
    if not part.events and part.is_all:
        end, again = end_of_feed(asked.workspace_id)
        if part.next > end:
            raise CursorFromAnotherHistory(written_place(*again))
    waits = {} if part.events or not part.is_all else {"Retry-After": "1"}
    return Answered(data=FeedPage(events=part.events, next=written_place(*part.next)), headers=waits)
