"""How many calls of an app were not proven in the last seven days, why, and from which pages.

Apps that report have marked each call. The counts come from an index that holds all that is counted; pages are looked
up for the newest of those that would have been refused. Of what apps that enforce refuse, counts in Redis are left.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bridge.lately import counted_lately, since
from engage.database.object_ids import first_id_at
from engage.database.sql import Statement
from engage.models import App
from engage.redis.metric_counters import IDENTITY_REFUSALS

COUNTED_AT_MOST = 500_000
PAGES_OF_AT_MOST = 10_000
_MOST_ORIGINS = 20

_NEWEST = """
    SELECT one.id, one.identity_problem FROM bridge_interaction one
    WHERE one.app_id = {app_id} AND one.verified IS NOT NULL AND one.id >= {since} ORDER BY one.id DESC LIMIT {counted}
"""
_COUNTED = Statement(
    "SELECT newest.identity_problem, count(*) FROM ({newest}) AS newest GROUP BY newest.identity_problem",
    newest=_NEWEST,
)
_ORIGINS = Statement(
    """
WITH unproven AS MATERIALIZED (
    SELECT newest.id, newest.identity_problem FROM ({newest}) AS newest
    WHERE newest.identity_problem <> '' LIMIT {looked_up}
)
SELECT one.origin, unproven.identity_problem AS reason, count(*) AS calls
FROM unproven
CROSS JOIN LATERAL (SELECT known.origin FROM bridge_interaction known WHERE known.id = unproven.id LIMIT 1) AS one
GROUP BY one.origin, unproven.identity_problem ORDER BY calls DESC, one.origin, reason LIMIT {most}
""",
    newest=_NEWEST,
)


@dataclass(frozen=True, kw_only=True)
class PageCalls:
    """How many calls of pages of an origin ("" outside browsers) would have been refused for this reason."""

    origin: str
    reason: str
    calls: int


@dataclass(frozen=True, kw_only=True)
class IdentityFigures:
    """Of `calls` that were marked, how many would have been refused by reason, and their origins.

    `is_partial`: these are the newest COUNTED_AT_MOST. `refused` is what was refused by reason; None while Redis is
    away.
    """

    calls: int
    unproven: Mapping[str, int]
    origins: Sequence[PageCalls]
    is_partial: bool
    refused: Mapping[str, int] | None

    @property
    def would_be_refused(self) -> int:
        return sum(self.unproven.values())


def identity_figures(app: App, *, now: datetime) -> IdentityFigures:
    """Two statements; one if nothing would have been refused."""
    bounds = {"app_id": app.pk, "since": first_id_at(since(now)), "counted": COUNTED_AT_MOST}
    counts: dict[str, int] = dict(_COUNTED.rows(**bounds))
    calls, unproven = sum(counts.values()), {reason: number for reason, number in counts.items() if reason}
    return IdentityFigures(
        calls=calls,
        unproven=unproven,
        origins=_ORIGINS.fetch(PageCalls, **bounds, looked_up=PAGES_OF_AT_MOST, most=_MOST_ORIGINS) if unproven else [],
        is_partial=calls >= COUNTED_AT_MOST,
        refused=_refused(app, now=now),
    )


def _refused(app: App, *, now: datetime) -> Mapping[str, int] | None:
    counted = counted_lately(IDENTITY_REFUSALS, now=now)
    if counted is None:
        return None
    refused: Counter[str] = Counter()
    for (_, _, app_id, reason), number in counted.items():
        if app_id == app.pk:
            refused[reason] += number
    return refused
