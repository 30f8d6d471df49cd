"""Who belongs to a segment: those put into it, and those who meet its conditions."""

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import NamedTuple, TypeVar

from django.db import OperationalError, transaction
from psycopg.errors import QueryCanceled

from customers.conditions import (
    Columns,
    InvalidCondition,
    Root,
    compile_condition,
    parse_condition,
    warnings_about,
)
from customers.models import Segment
from engage.database.sql import Fragment, Statement, Template, compose
from engage.errors import Refusal

_Found = TypeVar("_Found")


class ErrorResolvingSegments(Refusal):
    """A segment is unknown or of another workspace (the answer does not say which), or nobody can tell who it means."""

    error = "Error resolving segments"


def check_segment_conditions(conditions: object, *, place: str = "conditions", stored: bool = False) -> None:
    """Raises InvalidCondition, whose message names the place, unless a segment may have these conditions or None.

    `stored` ones are as they were saved, and need not keep to rules that came later.
    """
    if conditions is not None:
        parse_condition(conditions, roots={Root.CUSTOMER}, place=place, stored=stored)


def segment_warnings(segment: Segment, *, place: str = "conditions") -> list[Refusal]:
    """Why its stored conditions could not be saved anew, each with its place; it goes on with them."""
    return warnings_about(segment.conditions, roots={Root.CUSTOMER}, place=place) if segment.conditions else []


def belongs_to_any(segments: Sequence[Segment]) -> Fragment:
    """An SQL expression: does the customer in the row `customer` belong to any of these segments of its workspace?

    It is an expression, not a list of members, so that a call that names customers looks at these alone, one by one.
    OFFSET keeps the planner from a join, which may compare each customer with each member (while its statistics are
    older than they are). Of a segment with conditions it is asked once whether it has any members.

    Raises ErrorResolvingSegments for stored conditions that cannot be read.
    """
    ids = [segment.id for segment in segments]
    put_in = Fragment(
        "EXISTS (SELECT FROM customers_segmentmembership membership"
        " WHERE membership.segment_id = ANY(%s::text[]) AND membership.customer_id = customer.id OFFSET 0)",
        [ids],
    )
    conditions = _conditions(segments)
    if not conditions:
        return put_in
    any_members = Fragment(
        "(SELECT EXISTS (SELECT FROM customers_segmentmembership WHERE segment_id = ANY(%s::text[])))", [ids]
    )
    return _any_of([*conditions, compose("{} AND {}", any_members, put_in)])


def _any_of(tests: Sequence[Fragment]) -> Fragment:
    return compose(f"({' OR '.join(['{}'] * len(tests))})", *tests)


def _conditions(segments: Sequence[Segment]) -> list[Fragment]:
    return [_condition(segment) for segment in segments if segment.conditions is not None]


def _condition(segment: Segment) -> Fragment:
    try:
        condition = parse_condition(segment.conditions, roots={Root.CUSTOMER}, place="conditions", stored=True)
    except InvalidCondition as invalid:  # not checked when they were stored: not the caller's doing
        raise ErrorResolvingSegments(
            f"The stored conditions of the segment {segment.id!r} ({segment.key}) are invalid: {invalid.message}"
        ) from invalid
    return compile_condition(condition, columns=Columns())


def members_of(segments: Sequence[Segment], *, workspace_id: str) -> Fragment:
    """The ids (column `id`, each once) of the workspace's customers who were put into the segments.

    For segments without conditions these are all that belong to them, read from the memberships alone. The workspace is
    asked for in a way that no index serves: a plan could find a small segment's members among all of a large workspace.
    """
    return Fragment(
        "SELECT DISTINCT customer_id AS id FROM customers_segmentmembership"
        " WHERE workspace_id || '' = %s AND segment_id = ANY(%s::text[])",
        [workspace_id, [segment.id for segment in segments]],
    )


_EVERYBODY = Template("""
SELECT id FROM customers_customer customer WHERE workspace_id = {workspace_id}::text AND {meets}
UNION ALL
SELECT member.id FROM ({members}) AS member
CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = member.id LIMIT 1) AS customer
WHERE {meets} IS NOT TRUE
""")


def all_belonging(segments: Sequence[Segment], *, workspace_id: str) -> Fragment:
    """The ids (column `id`, each once) of all who belong to any of the segments.

    Who meets conditions is found by one scan, and then the members who do not: nobody is asked for memberships.

    Raises ErrorResolvingSegments for stored conditions that cannot be read.
    """
    members = members_of(segments, workspace_id=workspace_id)
    conditions = _conditions(segments)
    if not conditions:
        return members
    return _EVERYBODY.filled(workspace_id=workspace_id, meets=_any_of(conditions), members=members)


class Counted(NamedTuple):
    """How many belong to a segment; at least so many, unless it `is_all`."""

    number: int
    is_all: bool


_COUNT = Statement("SELECT count(*) FROM ({everybody}) AS one")
_COUNT_PART = Statement("""
SELECT count(*) FILTER (WHERE {belongs}), max(id) FROM (
    SELECT * FROM customers_customer WHERE workspace_id = {workspace_id}::text AND id > {after}
    ORDER BY id LIMIT {part}
) customer
""")
_FIRST = Statement("""
SELECT id FROM customers_customer customer WHERE workspace_id = {workspace_id}::text AND {belongs}
ORDER BY id DESC LIMIT {most}
""")
_PART = 5_000


def count_belonging(segment: Segment, *, seconds: float) -> Counted:
    """Who belongs to the segment now. What cannot be counted in half of the time is counted as far as the rest lasts.

    Raises ErrorResolvingSegments if its conditions cannot be read.
    """
    began, workspace_id = monotonic(), segment.workspace_id
    counting = partial(_COUNT.column, everybody=all_belonging([segment], workspace_id=workspace_id))
    if (at_once := _within(seconds / 2, counting)) is not None:
        return Counted(at_once[0], is_all=True)
    number, after = 0, ""
    while (left := began + seconds - monotonic()) > 0:
        belongs = belongs_to_any([segment])
        counting = partial(_COUNT_PART.rows, belongs=belongs, workspace_id=workspace_id, after=after, part=_PART)
        if (part := _within(left, counting)) is None:
            break
        ((met, last),) = part
        number += met
        if last is None:
            return Counted(number, is_all=True)
        after = last
    return Counted(number, is_all=False)


def first_belonging(segment: Segment, *, most: int, seconds: float) -> list[str] | None:
    """The ids of the latest customers who belong to the segment; None if that takes longer.

    Raises ErrorResolvingSegments if its conditions cannot be read.
    """
    finding = partial(_FIRST.column, belongs=belongs_to_any([segment]), workspace_id=segment.workspace_id, most=most)
    return _within(seconds, finding)


def _within(seconds: float, asked: Callable[[], _Found]) -> _Found | None:
    """What the statement finds; None if it takes longer."""
    try:
        with transaction.atomic():
            usual = _limit_statements(f"{max(seconds * 1000, 1):.0f}ms")
            found = asked()
            _limit_statements(usual)
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            return None
        raise
    return found


def _limit_statements(limit: str) -> str:
    """Sets how long a statement of this transaction may take; returns the limit before."""
    (usual,) = Statement("SELECT current_setting('statement_timeout')").column()
    Statement("SELECT set_config('statement_timeout', {limit}, true)").execute(limit=limit)
    return str(usual)
