"""The audience of a call: external ids ∩ segments, less the exclusions, as one query within the database.

Whom the call names by external id is looked up once, in two common table expressions. The audience is selected from
these, and so is everybody whom the call names and does not address.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from django.db import connection

from customers.audience.segments import ErrorResolvingSegments, all_belonging, belongs_to_any
from customers.models import Segment
from engage.database.keys import named_by, names_of_none
from engage.database.object_ids import ObjectId
from engage.database.sql import Fragment, Statement, Template, compose
from engage.errors import FailureDetail
from engage.json.fields import Spelled


@dataclass(frozen=True, kw_only=True)
class Audience:
    """Customers by external ids, by segments, or those in both; None if the caller named none."""

    external_ids: tuple[str, ...] | None = None
    segment_ids: tuple[str, ...] | None = None
    exclude_external_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.external_ids is None and self.segment_ids is None:
            raise ValueError("An audience names external ids, segments or both; it is never the whole workspace.")


# An audience of more people than this is large.
LARGE = 10_000
_IS_LARGE = Statement("""
WITH named AS MATERIALIZED (
    SELECT id, conditions FROM customers_segment
    WHERE workspace_id = {workspace_id} AND (id = ANY({segments}::text[]) OR key = ANY({segments}::text[]))
)
SELECT (
    SELECT count(*) FROM (
        SELECT FROM customers_segmentmembership WHERE segment_id = ANY(ARRAY(SELECT id FROM named)) LIMIT {most} + 1
    ) AS member
) > {most} OR EXISTS (SELECT FROM named WHERE conditions IS NOT NULL) AND (
    SELECT count(*) FROM (SELECT FROM customers_customer WHERE workspace_id = {workspace_id} LIMIT {most} + 1) AS one
) > {most}
""")


def is_large(audience: Audience, *, workspace_id: str) -> bool:
    """Whether more than `LARGE` may belong to it, or have to be looked at for that. The look itself is bounded."""
    if audience.segment_ids is None or audience.external_ids is not None:
        return False
    [(large,)] = _IS_LARGE.rows(workspace_id=workspace_id, segments=list(audience.segment_ids), most=LARGE)
    return bool(large)


def resolve_segments(*, workspace_id: str, segment_ids: Sequence[str]) -> list[Segment]:
    """Returns the segments, each named by its id or its key, in one statement.

    Raises ErrorResolvingSegments unless all of them exist in the workspace.
    """
    if not segment_ids:
        return []
    found = list(Segment.objects.filter(named_by(segment_ids), workspace_id=workspace_id))
    if unknown := names_of_none(segment_ids, found):
        named = [repr(segment_id[:100]) for segment_id in unknown]
        each = [
            FailureDetail(field="segment_ids", message=f"{name} does not exist in this workspace.") for name in named
        ]
        raise ErrorResolvingSegments(
            f"These segments do not exist in this workspace: {', '.join(named)}.", details=each if len(each) > 1 else []
        )
    return found


@dataclass(frozen=True)
class NamedCustomer:
    """A customer named by the call."""

    customer_id: Annotated[ObjectId, "The customer's id."]
    external_id: Annotated[
        str | None,
        "The customer's id in your own system; null if there is none, or if the customer was erased.",
        Spelled("external_id"),
    ]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Customers that a call names but does not address."""

    unknown: Annotated[
        Sequence[str], "The `external_ids` that no customer has, in the order sent.", Spelled("unknownExternalIds")
    ] = ()
    excluded: Annotated[Sequence[NamedCustomer], "The customers left out because of `exclude_external_ids`."] = ()
    not_in_segments: Annotated[
        Sequence[NamedCustomer], "The customers in `external_ids` who are in none of the segments."
    ] = ()


@dataclass(frozen=True, kw_only=True)
class Selection:
    """An audience in SQL. `tables` are common table expressions, in which the queries find what they read.

    In `named` and `exempt` are the external ids that the call names and excludes: each once, with its `place` in the
    order sent, the `customer_id` of who has it (NULL: nobody), and whether they belong to the call's segments
    (`belongs`; true if it names none). `audience` selects the ids (column `id`, each once) of the audience's customers.
    `excluded` is a condition on a row of `exempt`: the customer would otherwise be in the audience.
    """

    tables: Fragment
    audience: Fragment
    excluded: str

    def alone(self) -> Fragment:
        """The ids of the audience's customers, as a query of its own."""
        return compose("WITH {} {}", self.tables, self.audience)


def select_audience(*, workspace_id: str, audience: Audience, segments: Sequence[Segment]) -> Selection:
    """`segments` are those of `audience.segment_ids`.

    Several segments are united; with external ids, only customers in both remain; exclusions apply in any case.
    """
    belongs = Fragment("true") if audience.segment_ids is None else belongs_to_any(segments)
    by_name = audience.external_ids is not None
    tables = compose(
        "named AS MATERIALIZED ({}), exempt AS MATERIALIZED ({})",
        known_as(workspace_id, audience.external_ids or (), belongs=belongs),
        exempted(workspace_id, audience.exclude_external_ids, belongs=Fragment("true") if by_name else belongs),
    )
    if by_name:
        chosen = Fragment("SELECT customer_id AS id FROM named WHERE belongs")
    else:
        chosen = compose("SELECT id FROM ({}) AS one", all_belonging(segments, workspace_id=workspace_id))
    if audience.exclude_external_ids:
        chosen = compose("SELECT id FROM ({}) AS chosen WHERE id NOT IN ({})", chosen, _EXEMPT)
    return Selection(tables=tables, audience=chosen, excluded=_NAMED_TOO if by_name else "belongs")


_ANYBODY = Fragment("true")
# Subqueries that are hashed, which joins need not be: a plan for any list expects a short one.
_EXEMPT = Fragment("SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL")
_NAMED_TOO = "(customer_id IN (SELECT customer_id FROM named WHERE belongs)) IS TRUE"

# Each external id is looked up by its unique index, and nothing else is said of the workspace: a plan for any workspace
# expects one of average size, and may read the whole of a large one instead. A blank one is not looked up.
_KNOWN_AS = Template(
    """
SELECT coalesce(known.external_id, sent.external_id) AS external_id, sent.place, known.id AS customer_id, known.belongs
FROM unnest({sent}::text[]) WITH ORDINALITY AS sent (external_id, place)
LEFT JOIN LATERAL (
    SELECT customer.id, customer.external_id, {belongs} AS belongs FROM customers_customer customer
    WHERE {who} LIMIT 1
) AS known ON sent.external_id <> ALL({blank}::text[])
"""
)
_OWN = "customer.workspace_id = {workspace_id} AND customer.external_id = sent.external_id"
_OWN_OR_ALIAS = """customer.id = coalesce(
    (SELECT own.id FROM customers_customer own
     WHERE own.workspace_id = {workspace_id} AND own.external_id = sent.external_id),
    (SELECT led.customer_id FROM customers_alias led
     WHERE led.workspace_id = {workspace_id} AND led.external_id = sent.external_id LIMIT 1)
)"""


_ONCE = Template("""
SELECT external_id, place, customer_id, belongs FROM (
    SELECT *, row_number() OVER (PARTITION BY customer_id ORDER BY place) AS nth FROM ({exempt}) AS each
) AS numbered WHERE nth = 1 OR customer_id IS NULL
""")


def known_as(workspace_id: str, external_ids: Sequence[str], *, belongs: Fragment, who: str = _OWN) -> Fragment:
    """A table of a Selection: who has these external ids, and whether they belong."""
    sent = list(dict.fromkeys(external_ids))
    blank = [external_id for external_id in sent if not external_id.strip()]
    meant = Template(who).filled(workspace_id=workspace_id)
    return _KNOWN_AS.filled(sent=sent, belongs=belongs, who=meant, blank=blank)


def exempted(workspace_id: str, external_ids: Sequence[str], *, belongs: Fragment = _ANYBODY) -> Fragment:
    """The table `exempt` of a Selection. What takes somebody away follows merges, as what adds one person does.

    A customer stands in it once, whatever they are called by.
    """
    if not external_ids:
        return known_as(workspace_id, (), belongs=belongs)
    return _ONCE.filled(exempt=known_as(workspace_id, external_ids, belongs=belongs, who=_OWN_OR_ALIAS))


def pages_of_audience(
    *, workspace_id: str, audience: Audience, segments: Sequence[Segment], size: int
) -> Iterator[list[NamedCustomer]]:
    """The audience's customers ordered by id, page by page through a cursor, so that memory use stays flat."""
    selection = select_audience(workspace_id=workspace_id, audience=audience, segments=segments)
    query = compose(
        "WITH {} SELECT customer.id, customer.external_id FROM ({}) AS audience"
        " CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = audience.id LIMIT 1) AS customer"
        " ORDER BY customer.id",
        selection.tables,
        selection.audience,
    )
    with connection.chunked_cursor() as cursor:
        cursor.execute(query.sql, query.params)
        while page := cursor.fetchmany(size):
            yield [NamedCustomer(*row) for row in page]


_LEFT_OUT = Statement("""
WITH {tables}
SELECT 'unknown', customer_id, external_id, place FROM named WHERE customer_id IS NULL
UNION ALL SELECT 'not_in_segments', customer_id, external_id, place FROM named WHERE NOT belongs
UNION ALL SELECT 'excluded', customer_id, external_id, place FROM exempt WHERE {excluded}
ORDER BY place
""")


def left_out(*, workspace_id: str, audience: Audience, segments: Sequence[Segment]) -> LeftOut:
    """The customers that the call names by external id but does not address, in the order sent."""
    selection = select_audience(workspace_id=workspace_id, audience=audience, segments=segments)
    rows = _LEFT_OUT.rows(tables=selection.tables, excluded=Fragment(selection.excluded))
    found: dict[str, list[NamedCustomer]] = {"unknown": [], "not_in_segments": [], "excluded": []}
    for why, customer_id, external_id, _ in rows:
        found[why].append(NamedCustomer(customer_id, external_id))
    return LeftOut(
        unknown=[str(one.external_id) for one in found["unknown"]],
        excluded=found["excluded"],
        not_in_segments=found["not_in_segments"],
    )
