"""A worker's turn at a lane: one piece of work after another, and the handling of those that fail."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from django.db import DatabaseError

from engage.database.outages import is_held_up
from journeys.engine.due import Due
from journeys.engine.enrollments.trails import of_triggers
from journeys.engine.entering.chunks import (
    ClaimedChunk,
    claim_chunk,
    give_up,
    retry,
    snooze,
    split_chunk,
)
from journeys.engine.entering.claims import claim_next_chunks
from journeys.engine.entering.held_up import part_from_locked
from journeys.engine.entering.settling import settle
from journeys.models import Chunk
from journeys.rules.cut_off import flush_pending, record_after_cut
from journeys.rules.failures import MAX_ATTEMPTS, SNOOZE_SECONDS, Verdict, for_the_record, verdict

log = structlog.get_logger(__name__)
_HELD_UP_SECONDS = 1.0  # until a job is tried again whose customer others had locked


@dataclass(frozen=True, kw_only=True)
class Served:
    """The result of a worker's turn: whether anything was there to do, and what that made due.

    `unfinished` if the time was up first, so more may be due; `isolating` if the last piece had been tried before and
    was therefore taken alone.
    """

    anything: bool
    due: Due
    unfinished: bool
    isolating: bool


def serve_lane(*, lane: Chunk.Lane, named: tuple[str, int] | None, seconds: float) -> Served:
    """Settles the named chunk (trigger id, start), then the lane's next ones until none is due or the time is up.

    Raises the error if the connection is lost; the attempt that it ended does not count.
    """
    flush_pending()
    anything, due, isolating, until = False, Due(), False, time.monotonic() + seconds
    claimed = claim_chunk(trigger_id=named[0], start=named[1]) if named else []
    claimed = claimed or claim_next_chunks(lane=lane)
    while claimed:
        anything, isolating = True, claimed[0].attempts > 1
        due |= _attempt(claimed)
        if time.monotonic() >= until:
            break
        claimed = claim_next_chunks(lane=lane)
    return Served(anything=anything, due=due, unfinished=bool(claimed), isolating=isolating)


def _attempt(claimed: Sequence[ClaimedChunk]) -> Due:
    """One attempt at claimed chunks. A failure is recorded, and costs other chunks only time."""
    first = claimed[0]
    if first.attempts > MAX_ATTEMPTS and first.size == 1:
        if reason := give_up(first):
            log.error("job_given_up", **_names([first]), error=reason)
        return Due()
    if first.attempts > 1 and first.size > 1:
        split_chunk(first)
        return Due()
    try:
        return settle(claimed).due
    except Exception as error:
        if not _recover(claimed, error):
            raise
        return Due()


def _recover(claimed: Sequence[ClaimedChunk], error: Exception) -> bool:
    """Does with claimed chunks what the verdict on their failure says; whether others can be worked on."""
    first, jobs, record = claimed[0], sum(chunk.size for chunk in claimed), for_the_record(error)
    match verdict(error, attempts=first.attempts, alone=jobs == 1):
        case Verdict.CUT_OFF:
            if first.attempts > 1:  # those claimed for the first time keep their one attempt, to be tried alone
                record_after_cut(partial(snooze, first, error=record))
            return False
        case Verdict.LEFT_IDLE:
            record_after_cut(partial(retry, claimed, error=record))
            return False
        case Verdict.RELEASE if jobs > 1:
            log.warning("jobs_held_up", **_names(claimed), error=record)
            _part_from_locked(claimed, error=record)
        case Verdict.RELEASE | Verdict.SNOOZE:
            snooze(first, error=record, seconds=_HELD_UP_SECONDS if is_held_up(error) else SNOOZE_SECONDS)
            # With a traceback the first time only: during an outage this recurs every few seconds for each job.
            log.warning("job_snoozed", **_names([first]), error=record, exc_info=first.attempts == 1)
        case Verdict.RETRY:
            retry(claimed, error=record)
            log.error("chunk_failed", **_names(claimed), exc_info=error)
    return True


def _names(claimed: Sequence[ClaimedChunk]) -> dict[str, Any]:
    """What a line of the log names of them."""
    return {"jobs": sum(chunk.size for chunk in claimed), **of_triggers([chunk.trigger_id for chunk in claimed])}


def _part_from_locked(claimed: Sequence[ClaimedChunk], *, error: str) -> None:
    """Those whose customer nobody has locked are decided at once; where that fails, after some splitting."""
    parted = False
    with suppress(DatabaseError):
        parted = part_from_locked(claimed, error=error, seconds=_HELD_UP_SECONDS)
    if not parted:
        retry(claimed, error=error)
