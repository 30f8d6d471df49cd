"""Who belongs to a segment: those put into it, and those who meet its conditions."""

from typing import NamedTuple

from django.db import connection

from customers.conditions import Columns, Root, compile_condition, parse_condition
from customers.fragment import Fragment, compose
from customers.models import Segment


def check_segment_conditions(conditions: object, *, place: str = "conditions") -> None:
    """Whether a segment may have these conditions (null: none).

    Raises InvalidCondition, whose message names the place.
    """
    if conditions is not None:
        parse_condition(conditions, roots={Root.CUSTOMER}, place=place)


def members(segment: Segment) -> Fragment:
    """The ids of the segment's customers (column `id`), some of them twice."""
    put_in = Fragment(
        "SELECT customer_id AS id FROM customers_segmentmembership WHERE segment_id = %s::text", [segment.id]
    )
    if segment.conditions is None:
        return put_in
    condition = parse_condition(segment.conditions, roots={Root.CUSTOMER}, place="conditions")
    return compose(
        "{} UNION ALL SELECT customer.id FROM customers_customer customer WHERE customer.workspace_id = {} AND {}",
        put_in,
        Fragment("%s::text", [segment.workspace_id]),
        compile_condition(condition, columns=Columns()),
    )


class Trial(NamedTuple):
    """How many customers were tried, and how many of them met the conditions."""

    met: int
    tried: int


def try_conditions(*, segment: Segment, customers: int) -> Trial:
    """Tries the segment's conditions, which it must have, on so many of the workspace's latest customers.

    An impression of its size that costs the same whatever the workspace's size is.
    """
    condition = parse_condition(segment.conditions, roots={Root.CUSTOMER}, place="conditions")
    query = compose(
        "SELECT count(*) FILTER (WHERE {}), count(*) FROM (SELECT * FROM customers_customer WHERE workspace_id = {}"
        " ORDER BY id DESC LIMIT {}) customer",
        compile_condition(condition, columns=Columns()),
        Fragment("%s::text", [segment.workspace_id]),
        Fragment("%s::bigint", [customers]),
    )
    with connection.cursor() as cursor:
        cursor.execute(query.sql, query.params)
        return Trial(*cursor.fetchone())
