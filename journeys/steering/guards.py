"""Guards: a journey holds itself when too many of its webhooks fail.

`{"failedShare": 0.5, "of": 50}`: of the latest 50 attempts at its webhooks, more than half have failed. Results are
noted in the transaction that writes them, of guarded journeys only; a resumption begins anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engage.database.sql import Rows, Statement
from engage.errors import Refusal
from engage.plurals import counted
from journeys.models import Journey
from journeys.steering.acts import GUARD
from journeys.steering.holding import locked, put_on_hold

MOST_RESULTS = 1_000


class InvalidGuards(Refusal):
    """Guards cannot be as described; the message begins with the place."""

    error = "Invalid guards"


@dataclass(frozen=True, kw_only=True)
class Guards:
    """The share of failed attempts, of so many, above which the journey is held."""

    failed_share: float
    of: int

    def are_crossed_by(self, latest: str) -> bool:
        """`latest` has a character for each of the latest attempts, 1 for one that failed."""
        return len(latest) >= self.of and latest.count("1") / len(latest) > self.failed_share


def parse_guards(written: object) -> Guards | None:
    """The guards of a journey; None if it has none. Raises InvalidGuards."""
    if written is None:
        return None
    if not isinstance(written, dict) or set(written) != {"failedShare", "of"}:
        raise InvalidGuards('guards must be an object with failedShare and of, such as {"failedShare": 0.5, "of": 50}.')
    share, of = written["failedShare"], written["of"]
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise InvalidGuards("guards.failedShare must be a number from 0 to below 1.")
    if isinstance(of, bool) or not isinstance(of, int) or not 1 <= of <= MOST_RESULTS:
        raise InvalidGuards(f"guards.of must be a whole number from 1 to {MOST_RESULTS:,}.")
    return Guards(failed_share=float(share), of=of)


# In the order of ids; a journey that is held already is not guarded.
_NOTE = Statement(
    """
INSERT INTO journeys_guardedresults AS known (journey_id, workspace_id, latest)
SELECT journey.id, journey.workspace_id, right(fresh.results, (journey.guards->>'of')::int)
FROM {fresh} JOIN journeys_journey journey ON journey.id = fresh.journey_id
WHERE journey.guards IS NOT NULL AND journey.held_at IS NULL AND journey.aborted_at IS NULL
ORDER BY journey.id
ON CONFLICT (journey_id) DO UPDATE SET latest = right(
    known.latest || excluded.latest,
    (SELECT (guards->>'of')::int FROM journeys_journey guarded WHERE guarded.id = known.journey_id)
)
RETURNING journey_id, latest
""",
    fresh=Rows("fresh", {"journey_id": "text", "results": "text"}),
)


def note_results(failed: Mapping[str, Sequence[bool]]) -> None:
    """Notes whether attempts have failed, by journey and in order, and holds journeys whose guards that crosses.

    Within the caller's transaction, at its end: nothing may be locked after a journey.
    """
    fresh = [(journey_id, "".join("1" if one else "0" for one in results)) for journey_id, results in failed.items()]
    latest = dict(_NOTE.rows(fresh=fresh))
    for journey in Journey.objects.filter(id__in=latest).order_by("id"):
        guards = parse_guards(journey.guards)
        if guards and guards.are_crossed_by(latest[journey.id]):
            _hold(journey, latest[journey.id])


def _hold(journey: Journey, latest: str) -> None:
    journey = locked(journey)
    if journey.held_at is None and journey.aborted_at is None:
        failed = latest.count("1")
        reason = f"{failed} of the latest {counted(len(latest), 'attempt')} at its webhooks failed."
        put_on_hold(journey, reason=reason, actor=GUARD, failed=failed, of=len(latest))
