"""The audience of a call: external ids ∩ segments, less the exclusions, as one query within the database."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.db import connection

from customers.fragment import Fragment, compose
from customers.lookup import ids_having_any
from customers.models import Segment
from customers.segments import ErrorResolvingSegments, belongs_to_any, members_of
from engage.errors import FailureDetail
from engage.object_ids import is_object_id


@dataclass(frozen=True, kw_only=True)
class Audience:
    """Customers by external ids, by segments, or those in both; None if the caller named none."""

    external_ids: tuple[str, ...] | None = None
    segment_ids: tuple[str, ...] | None = None
    exclude_external_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.external_ids is None and self.segment_ids is None:
            raise ValueError("An audience names external ids, segments or both; it is never the whole workspace.")


def resolve_segments(*, workspace_id: str, segment_ids: Sequence[str]) -> list[Segment]:
    """Returns the segments. Raises ErrorResolvingSegments unless all of them exist in the workspace."""
    if not segment_ids:
        return []
    wanted = [segment_id for segment_id in segment_ids if is_object_id(segment_id)]
    found = {segment.id: segment for segment in Segment.objects.filter(workspace_id=workspace_id, id__in=wanted)}
    unknown = [segment_id for segment_id in dict.fromkeys(segment_ids) if segment_id not in found]
    if unknown:
        named = [repr(segment_id[:100]) for segment_id in unknown]
        each = [
            FailureDetail(field="segment_ids", message=f"{name} does not exist in this workspace.") for name in named
        ]
        raise ErrorResolvingSegments(
            f"These segments do not exist in this workspace: {', '.join(named)}.", details=each if len(each) > 1 else []
        )
    return list(found.values())


class NamedCustomer(NamedTuple):
    """A customer's id, and the external id by which a call may have named them."""

    customer_id: str
    external_id: str | None


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Customers that a call names but does not address. `unknown` are external ids that no customer has."""

    unknown: Sequence[str] = ()
    excluded: Sequence[NamedCustomer] = ()
    not_in_segments: Sequence[NamedCustomer] = ()


def audience_query(*, workspace_id: str, audience: Audience, segments: Sequence[Segment]) -> Fragment:
    """The ids of the audience's customers (column `id`, each once); `segments` are those of `audience.segment_ids`.

    Several segments are united; with external ids, only customers in both remain; exclusions apply in any case.
    """
    if audience.segment_ids is None:
        ids = _ids(workspace_id, audience.external_ids or ())
    elif audience.external_ids is None and all(segment.conditions is None for segment in segments):
        ids = members_of(segments, workspace_id=workspace_id)
    else:
        meant = _in_audience(workspace_id=workspace_id, audience=audience, segments=segments)
        if audience.external_ids is None:
            meant = [Fragment("customer.workspace_id = %s", [workspace_id]), *meant]
        return _customers("customer.id", meant)
    chosen = compose("SELECT customer.id FROM ({}) AS customer", ids)
    if not audience.exclude_external_ids:
        return chosen
    return compose("{} WHERE {}", chosen, _not_excluded(workspace_id, audience.exclude_external_ids))


def pages_of_audience(
    *, workspace_id: str, audience: Audience, segments: Sequence[Segment], size: int
) -> Iterator[list[NamedCustomer]]:
    """The audience's customers ordered by id, page by page through a cursor, so that memory use stays flat."""
    query = compose(
        "SELECT customer.id, customer.external_id FROM ({}) AS audience"
        " CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = audience.id LIMIT 1) AS customer"
        " ORDER BY customer.id",
        audience_query(workspace_id=workspace_id, audience=audience, segments=segments),
    )
    with connection.chunked_cursor() as cursor:
        cursor.execute(query.sql, query.params)
        while page := cursor.fetchmany(size):
            yield [NamedCustomer(*row) for row in page]


def left_out(*, workspace_id: str, audience: Audience, segments: Sequence[Segment]) -> LeftOut:
    """The customers that the call names by external id but does not address: never more than the ids it holds."""
    excluded: list[NamedCustomer] = []
    if audience.exclude_external_ids:
        before = replace(audience, exclude_external_ids=())
        meant = _in_audience(workspace_id=workspace_id, audience=before, segments=segments)
        excluded = _named([_known_as(workspace_id, audience.exclude_external_ids), *meant])
    outside: list[NamedCustomer] = []
    if audience.external_ids and audience.segment_ids is not None:
        in_none = compose("NOT {}", belongs_to_any(segments))
        outside = _named([_known_as(workspace_id, audience.external_ids), in_none])
    unknown = _unknown(workspace_id, audience.external_ids) if audience.external_ids else []
    return LeftOut(unknown=unknown, excluded=excluded, not_in_segments=outside)


def _in_audience(*, workspace_id: str, audience: Audience, segments: Sequence[Segment]) -> list[Fragment]:
    """SQL expressions that all hold if the workspace's customer in the row `customer` is part of the audience."""
    conditions = []
    if audience.external_ids is not None:
        conditions.append(_known_as(workspace_id, audience.external_ids))
    if audience.segment_ids is not None:
        conditions.append(belongs_to_any(segments))
    if audience.exclude_external_ids:
        conditions.append(_not_excluded(workspace_id, audience.exclude_external_ids))
    return conditions


def _customers(columns: str, conditions: Sequence[Fragment]) -> Fragment:
    where = compose(" AND ".join("{}" for _ in conditions), *conditions)
    return compose("SELECT {} FROM customers_customer customer WHERE {}", Fragment(columns), where)


def _known_as(workspace_id: str, external_ids: Sequence[str]) -> Fragment:
    """Says nothing else about the workspace: the look-up is by id, and must not read the whole workspace."""
    return compose("customer.id = ANY(ARRAY({}))", _ids(workspace_id, external_ids))


def _not_excluded(workspace_id: str, external_ids: Sequence[str]) -> Fragment:
    """Compares ids in a hashed subquery; `<> ALL(…)` would compare item by item."""
    return compose("customer.id NOT IN ({})", _ids(workspace_id, external_ids))


def _ids(workspace_id: str, external_ids: Sequence[str]) -> Fragment:
    named = {external_id for external_id in external_ids if external_id.strip()}
    return ids_having_any(workspace_id=workspace_id, identifiers={"external_id": named})


def _named(conditions: Sequence[Fragment]) -> list[NamedCustomer]:
    """The customers for whom all expressions hold, ordered by id."""
    query = compose("{} ORDER BY customer.id", _customers("customer.id, customer.external_id", conditions))
    return [NamedCustomer(*row) for row in _rows(query)]


_UNKNOWN = """
SELECT named.external_id FROM unnest(%s::text[]) WITH ORDINALITY AS named(external_id, place)
WHERE NOT EXISTS (
    SELECT FROM customers_customer customer
    WHERE customer.workspace_id = %s AND customer.external_id = named.external_id
    OFFSET 0
)
ORDER BY named.place
"""


def _unknown(workspace_id: str, external_ids: Sequence[str]) -> list[str]:
    """In the order sent, each once. OFFSET keeps the planner from a join, which reads the whole workspace."""
    return [row[0] for row in _rows(Fragment(_UNKNOWN, [list(dict.fromkeys(external_ids)), workspace_id]))]


def _rows(query: Fragment) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query.sql, query.params)
        return list(cursor.fetchall())
