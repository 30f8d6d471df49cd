"""Work of several kinds, or of several tenants, in one go: what one part raises ends none of the others."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import structlog
from django.db import connection

from engage.database.outages import is_outage

log = structlog.get_logger(__name__)
_Item = TypeVar("_Item")


@contextmanager
def alone(part: str, **names: Any) -> Iterator[None]:
    """Around one of several parts, outside of a transaction: what it raises is logged with the names, and passed over.

    A part that has ended its own connection leaves the next one a new one. Only where the database cannot be had at
    all the error goes on: it would be that of every other part as well.
    """
    try:
        yield
    except Exception as error:
        if is_outage(error):
            connection.close_if_unusable_or_obsolete()
            connection.ensure_connection()
        log.exception("part_failed", part=part, **names)


def in_halves(part: str, work: Callable[[Sequence[_Item]], Any], items: Sequence[_Item]) -> list[_Item]:
    """Does the work for all items together; where that fails, for each half by itself, and so on, as with `alone`.

    Returns those that fail even when each is the only one.
    """
    with alone(part, items=len(items)):
        work(items)
        return []
    if len(items) == 1:
        return list(items)
    middle = len(items) // 2
    return [*in_halves(part, work, items[:middle]), *in_halves(part, work, items[middle:])]
