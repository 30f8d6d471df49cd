"""A page of the feed: events in their order, with what is joined only now.

Who was erased since has no external id any more, and of what was deleted with them nothing can be joined.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from django.db.models import Q

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.object_ids import ObjectId
from engage.database.positions import MICROSECONDS, READ_AGAIN_SECONDS
from engage.database.sql import Statement, Template
from engage.errors import Refusal
from engage.feed import FeedType, without_values
from engage.json.fields import LEFT_OUT, Spelled
from engage.models import Workspace
from journeys.engine.feed.numbering import number_fresh

_MOST_LOOKED_AT = 20_000  # batches by one call, of which it may want none
_ALL = 2**31 - 1  # as the number of an event: behind all events of the batch


class FeedOff(Refusal):
    """The workspace keeps no feed."""

    status = 409
    error = "Feed off"
    says = "The feed of this workspace is off. Staff turn it on in the workspace, a seed file with workspace.feed."


class Place(NamedTuple):
    """Behind this event: the position of its batch, and its number there."""

    position: int
    number: int


BEGINNING = Place(position=0, number=0)


@dataclass(frozen=True, kw_only=True)
class FeedEvent:
    """Something that happened. What an event does not have is left out."""

    event_id: Annotated[str, "The event's id: whoever gets an event twice knows it by that."]
    type: Annotated[FeedType, "What happened."]
    at: datetime
    journey_id: Annotated[ObjectId | None, "The journey's id.", LEFT_OUT] = None
    customer_id: Annotated[ObjectId | None, "The customer's id.", LEFT_OUT] = None
    external_id: Annotated[
        str | None,
        "The customer's id in your own system, as it is now. Not of somebody erased, but of a `customer.erased`.",
        Spelled("external_id"),
        LEFT_OUT,
    ] = None
    trigger_id: Annotated[ObjectId | None, "The id of the trigger.", LEFT_OUT] = None
    job_id: Annotated[str | None, "The job's id.", LEFT_OUT] = None
    enrollment_id: Annotated[ObjectId | None, "The enrollment's id.", LEFT_OUT] = None
    result: Annotated[
        str | None, "Of a `job.decided` its result; of a `message.refused` the problem with it.", LEFT_OUT
    ] = None
    reason: Annotated[str | None, "The reason, as text, without values of the customer.", LEFT_OUT] = None
    place: Place = field(default=BEGINNING, metadata={"hidden": True})


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which events are asked for; None: all types, and all journeys, with what is of no journey.

    Types that only a later version knows are passed over.
    """

    types: Collection[str] | None = None
    journeys: Collection[str] | None = None


@dataclass(frozen=True, kw_only=True)
class FeedPart:
    """Events in their order, the place behind all that was looked at, and whether that is all there is by now."""

    events: Sequence[FeedEvent]
    next: Place
    is_all: bool


# Only so many batches are looked at, and of those wanted only as many are unpacked as fill the page.
_PAGE = Template(
    """
SELECT id, type, journey_id, at, position, number, customer_id, external_id, trigger_id,
       coalesce(job_id, 'enroll-' || journey_id || '-' || customer_id || '-' || queued_ms) AS job_id, enrollment_id,
       result, reason
FROM (
    SELECT id, position, sum(size) OVER (ORDER BY position) - size AS before FROM (
        SELECT id, position, size FROM engage_feedbatch, {in_index_order}
        WHERE workspace_id = {workspace_id} AND position >= {position}
          AND position < (SELECT bound FROM looked_at) AND (position > {position} OR size > {number}::bigint)
          AND type = ANY({types}::text[]) AND (journey_id = ANY({journeys}::text[]) OR {any_journey})
        ORDER BY position LIMIT {limit}
    ) AS ahead
) AS wanted
CROSS JOIN LATERAL (
    SELECT type, journey_id, at, event.* FROM engage_feedbatch known CROSS JOIN LATERAL unnest(
        customer_ids, external_ids, trigger_ids, queued_ms, job_ids, enrollment_ids, results, reasons
    ) WITH ORDINALITY AS event(
        customer_id, external_id, trigger_id, queued_ms, job_id, enrollment_id, result, reason, number
    )
    WHERE known.id = wanted.id
) AS event
WHERE wanted.before < {limit} + {number}::bigint AND (position, number) > ({position}::bigint, {number}::bigint)
ORDER BY position, number LIMIT {limit}
""",
    in_index_order=IN_INDEX_ORDER,
)
# Rows are looked up by key, whatever the planner expects (docs/sql.md).
_JOINED = """
SELECT event.id, event.type, event.journey_id, event.at, event.position, event.number, event.customer_id,
       coalesce(event.external_id, customer.external_id, merged.external_id) AS external_id,
       coalesce(event.trigger_id, job.trigger_id) AS trigger_id, coalesce(event.job_id, job.job_id) AS job_id,
       event.enrollment_id, event.result,
       coalesce(event.reason, CASE event.type WHEN 'enrollment.exited' THEN {why_exited} END) AS reason{more}
FROM {source} LEFT JOIN ({events}) AS event ON true
LEFT JOIN LATERAL (
    SELECT external_id, true AS found FROM customers_customer known
    WHERE known.id = event.customer_id AND known.workspace_id = {workspace_id} LIMIT 1
) AS customer ON true
LEFT JOIN LATERAL (
    SELECT into_one.external_id FROM customers_alias alias
    JOIN customers_customer into_one ON into_one.id = alias.customer_id
    WHERE customer.found IS NULL AND alias.id = event.customer_id AND alias.workspace_id = {workspace_id} LIMIT 1
) AS merged ON true
LEFT JOIN LATERAL (
    SELECT job_id, exit_reason FROM journeys_enrollment entered
    WHERE entered.id = event.enrollment_id AND entered.workspace_id = {workspace_id} LIMIT 1
) AS enrollment ON true
LEFT JOIN LATERAL (
    SELECT trigger_id, coalesce(
        queued_as, 'enroll-' || known.journey_id || '-' || known.customer_id || '-' || queued_ms
    ) AS job_id
    FROM journeys_enrollmentjob known WHERE known.id = enrollment.job_id LIMIT 1
) AS job ON true
ORDER BY event.position, event.number
"""
_READ = Statement(
    """
WITH looked_at AS MATERIALIZED (
    SELECT bound, (
        SELECT max(position) FROM engage_feedbatch
        WHERE workspace_id = {workspace_id} AND position >= {position} AND position < bound
    ) AS last
    FROM (
        SELECT coalesce((
            SELECT position FROM engage_feedbatch, {in_index_order}
            WHERE workspace_id = {workspace_id} AND position >= {position} ORDER BY position OFFSET {most} LIMIT 1
        ), {greatest}) AS bound
    ) AS furthest
)
{joined}
""",
    joined=_JOINED,
    why_exited=without_values("enrollment.exit_reason"),
    more=", looked_at.last, looked_at.bound = {greatest} AS is_all",
    source="looked_at",
    greatest=str(2**62),
    in_index_order=IN_INDEX_ORDER,
)


def feed_part(*, workspace_id: str, wanted: Wanted, after: Place, limit: int) -> FeedPart:
    """At most `limit` of the wanted events behind this place.

    What has not been read for long is numbered part by part: until that is done, a part is not all.
    """
    is_more_told = number_fresh(workspace_id)
    whose: dict[str, Any] = {"workspace_id": workspace_id, "position": after.position}
    events = _PAGE.filled(
        **whose,
        number=after.number,
        types=[name for name in FeedType.values if wanted.types is None or name in wanted.types],
        journeys=list(wanted.journeys or ()),
        any_journey=wanted.journeys is None,
        limit=limit,
    )
    rows = _READ.records(**whose, most=_MOST_LOOKED_AT, events=events)
    last, is_all = rows[0]["last"], rows[0]["is_all"] and not is_more_told
    told = [_event(row) for row in rows if row["id"] is not None]
    if len(told) == limit:
        return FeedPart(events=told, next=told[-1].place, is_all=False)
    return FeedPart(events=told, next=after if last is None else Place(position=last, number=_ALL), is_all=is_all)


# The last position, or the clock where nothing is kept; and how far back who is ahead of it has to read.
_END = Statement(
    """
SELECT coalesce(last, {now}), coalesce((
    SELECT position FROM engage_feedbatch, {in_index_order}
    WHERE workspace_id = {workspace_id} AND position <= last - {again}::bigint ORDER BY position DESC LIMIT 1
), 0) FROM (SELECT (
    SELECT position FROM engage_feedbatch, {in_index_order}
    WHERE workspace_id = {workspace_id} AND position IS NOT NULL ORDER BY position DESC LIMIT 1
) AS last) AS whole
""",
    now=MICROSECONDS,
    in_index_order=IN_INDEX_ORDER,
)


def end_of_feed(workspace_id: str) -> tuple[Place, Place]:
    """Behind all that was ever numbered; and from where on whoever is ahead of that, from another history, reads."""
    ((last, again),) = _END.rows(workspace_id=workspace_id, again=READ_AGAIN_SECONDS * 1_000_000)
    return Place(position=last, number=_ALL), Place(position=again, number=_ALL if again else 0)


def require_feed(workspace_id: str) -> None:
    """Raises FeedOff."""
    if not Workspace.objects.filter(Q(feed=True) | Q(subscribed=True), id=workspace_id).exists():
        raise FeedOff


def _event(row: dict[str, Any]) -> FeedEvent:
    names = ("journey_id", "customer_id", "external_id", "trigger_id", "job_id", "enrollment_id", "result", "reason")
    return FeedEvent(
        event_id=f"evt_{row['id']}_{row['number']}",
        type=FeedType(row["type"]),  # those that are known are asked for
        at=row["at"],
        place=Place(position=row["position"], number=row["number"]),
        **{name: row[name] for name in names},
    )
