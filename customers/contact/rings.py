"""The rings of caps in the database, in sets. Whoever reads one to write it has the customer locked."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from customers.models import ContactRing
from engage.database.sql import Statement

_RINGS = Statement("""
SELECT ring.customer_id, ring.cap, ring.times
FROM unnest({ids}::text[]) AS asked (id) JOIN customers_contactring ring ON ring.customer_id = asked.id
""")


class NewRing(NamedTuple):
    workspace_id: str
    customer_id: str
    cap: str
    times: Sequence[datetime]


def rings_of(customer_ids: Collection[str]) -> Mapping[str, Mapping[str, Sequence[datetime]]]:
    """Of these customers, by customer and cap, in one statement."""
    found: dict[str, dict[str, Sequence[datetime]]] = defaultdict(dict)
    for customer_id, cap, times in _RINGS.rows(ids=sorted(customer_ids)):
        found[customer_id][cap] = times
    return found


def write_rings(rings: Iterable[NewRing]) -> None:
    """In place of what is stored, in one statement; of one ring the last counts."""
    last = {(one.customer_id, one.cap): ContactRing(**one._asdict()) for one in rings}
    ContactRing.objects.bulk_create(
        last.values(), update_conflicts=True, unique_fields=["customer", "cap"], update_fields=["times"]
    )
