"""Guards: a journey holds itself when too many of its webhooks fail, or when too many customers enter it.

- `{"failedShare": 0.5, "of": 50}`: of the latest 50 attempts at its webhooks, more than half have failed.
- `{"entries": 50000, "per": "PT1H"}`: more than 50,000 have entered within an hour.

Both are noted in the transaction that writes what they count, of guarded journeys only; a resumption begins anew.
Entries are noted by sixtieths of their time: who entered in the sixtieth with which it begins counts no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from engage.database.sql import Rows, Statement
from engage.errors import Refusal
from engage.json.documents import Fields, Part, Reading
from engage.json.durations import duration_in_words
from engage.notations.plurals import counted
from journeys.engine.steering.acts import GUARD
from journeys.engine.steering.holding import locked, put_on_hold
from journeys.models import Journey
from journeys.steps.durations import read_duration

log = structlog.get_logger(__name__)
MOST_RESULTS = 1_000
MOST_ENTRIES = 1_000_000_000
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=31)
_PARTS = 60


class InvalidGuards(Refusal):
    """Guards cannot be as described; the message begins with the place."""

    error = "Invalid guards"


@dataclass(frozen=True, kw_only=True)
class FailureGuard:
    """The share of failed attempts, of so many, above which the journey is held."""

    failed_share: float
    of: int

    def is_crossed_by(self, latest: str) -> bool:
        """`latest` has a character for each of the latest attempts, 1 for one that failed."""
        return len(latest) >= self.of and latest.count("1") / len(latest) > self.failed_share


@dataclass(frozen=True, kw_only=True)
class EntryGuard:
    """The number of entries within so long above which the journey is held."""

    entries: int
    per: timedelta


@dataclass(frozen=True, kw_only=True)
class Guards:
    """What a journey is guarded against; None: not against that."""

    failures: FailureGuard | None = None
    entries: EntryGuard | None = None


def parse_guards(written: object) -> Guards:
    """The guards of a journey; null means none. Raises InvalidGuards."""
    if written is None:
        return Guards()
    part = Part(written, "guards", InvalidGuards)
    with Reading() as read:
        fields = part.fields(optional=["failedShare", "of", "entries", "per"], reading=read)
        failures = read(lambda: _failure_guard(_both(part, fields, "failedShare", "of")))
        entries = read(lambda: _entry_guard(_both(part, fields, "entries", "per")))
        if not part.members():
            part.refuse("must hold failedShare and of, or entries and per.")
    return Guards(failures=failures, entries=entries)


def _stored_guards(journey_id: str, written: object) -> Guards:
    """None that this version cannot read: whoever counts for them does so for other journeys as well."""
    try:
        return parse_guards(written)
    except Refusal:
        log.exception("guards_unreadable", journey_id=journey_id)
        return Guards()


def _both(part: Part, fields: Fields, one: str, other: str) -> list[Part]:
    """The two fields, of which none stands without the other; an empty list if both are left out."""
    return [part.field(name) for name in (one, other)] if one in fields or other in fields else []


def _failure_guard(fields: Sequence[Part]) -> FailureGuard | None:
    if not fields:
        return None
    share, of = fields
    with Reading() as read:
        failed_share = read(lambda: _share(share))
        number = read(lambda: of.whole(most=MOST_RESULTS))
    return FailureGuard(failed_share=failed_share, of=number)


def _entry_guard(fields: Sequence[Part]) -> EntryGuard | None:
    if not fields:
        return None
    entries, per = fields
    with Reading() as read:
        number = read(lambda: entries.whole(most=MOST_ENTRIES))
        length = read(lambda: _length(per))
    return EntryGuard(entries=number, per=length)


def _share(part: Part) -> float:
    if not 0 <= (share := part.number()) < 1:
        part.refuse("must be a number from 0 to below 1.")
    return float(share)


def _length(part: Part) -> timedelta:
    length = read_duration(part)
    if not SHORTEST <= length <= LONGEST:
        part.refuse("must be from a minute (PT1M) to 31 days (P31D).")
    return length


# In the order of ids; a journey that is held already is not guarded.
_NOTE = Statement(
    """
INSERT INTO journeys_guardedresults AS known (journey_id, workspace_id, latest)
SELECT journey.id, journey.workspace_id, right(fresh.results, (journey.guards->>'of')::int)
FROM {fresh} JOIN journeys_journey journey ON journey.id = fresh.journey_id
WHERE journey.guards->>'of' IS NOT NULL AND journey.held_at IS NULL AND journey.aborted_at IS NULL
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
        guard, results = _stored_guards(journey.id, journey.guards).failures, latest[journey.id]
        if guard and guard.is_crossed_by(results) and (running := _locked_if_running(journey)):
            number, of = results.count("1"), len(results)
            reason = f"{number} of the latest {counted(of, 'attempt')} at its webhooks failed."
            put_on_hold(running, reason=reason, actor=GUARD, failed=number, of=of)


# Transactions may come in another order than their clocks' sixtieths, so a later one is kept as well. Those of a guard
# with another length are far from these.
_NOTE_ENTRIES = Statement(
    """
INSERT INTO journeys_guardedresults AS known (journey_id, workspace_id, latest, entries)
SELECT journey.id, journey.workspace_id, '', jsonb_build_object(
    floor(extract(epoch FROM clock_timestamp()) / entered.seconds)::bigint, entered.number
)
FROM {entered} JOIN journeys_journey journey ON journey.id = entered.journey_id
WHERE journey.held_at IS NULL AND journey.aborted_at IS NULL
ORDER BY journey.id
ON CONFLICT (journey_id) DO UPDATE SET entries = (
    SELECT jsonb_object_agg(part, number) FROM (
        SELECT key::bigint AS part, sum(value::bigint) AS number FROM (
            SELECT * FROM jsonb_each_text(known.entries) UNION ALL SELECT * FROM jsonb_each_text(excluded.entries)
        ) AS noted GROUP BY 1
    ) AS summed CROSS JOIN (SELECT key::bigint AS now FROM jsonb_each_text(excluded.entries)) AS latest
    WHERE abs(part - latest.now) < {parts}
)
RETURNING journey_id, (SELECT sum(value::bigint)::bigint FROM jsonb_each_text(known.entries))
""",
    parts=str(_PARTS),
    entered=Rows("entered", {"journey_id": "text", "number": "bigint", "seconds": "float"}),
)


def note_entries(entered: Mapping[str, int], *, guards: Mapping[str, object]) -> None:
    """Notes how many have entered, by journey, and holds journeys whose guards that crosses. `guards` are theirs.

    Within the caller's transaction, at its end, as `note_results`.
    """
    known = {journey_id: _stored_guards(journey_id, guards[journey_id]).entries for journey_id in entered}
    limits = {journey_id: guard for journey_id, guard in known.items() if guard}
    rows = [(one, entered[one], guard.per.total_seconds() / _PARTS) for one, guard in limits.items()]
    within = dict(_NOTE_ENTRIES.rows(entered=rows)) if rows else {}
    crossed = [one for one, number in within.items() if number > limits[one].entries]
    for journey in Journey.objects.filter(id__in=crossed).order_by("id") if crossed else ():
        if running := _locked_if_running(journey):
            guard, number = limits[journey.id], within[journey.id]
            time = duration_in_words(guard.per)
            reason = f"{number:,} entered within {time}, where its guard allows {guard.entries:,}."
            put_on_hold(running, reason=reason, actor=GUARD, entries=number, allowed=guard.entries)


def _locked_if_running(journey: Journey) -> Journey | None:
    """None if it has been held or aborted meanwhile."""
    journey = locked(journey)
    return journey if journey.held_at is None and journey.aborted_at is None else None
