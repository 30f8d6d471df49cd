"""Parting jobs whose customer others have locked from the rest of their chunks."""

from collections.abc import Iterator, Sequence

from django.db import transaction

from engage.database.sql import Rows, Statement
from journeys.engine.entering.chunks import ClaimedChunk, lock_chunks
from journeys.engine.entering.waiting_jobs import locked_jobs

_MOST = 50  # if more are locked, others are deciding about the same customers, and will have finished soon

_Part = tuple[int, int, bool]  # from, to before, and whether it is one job that is held up

_PARTS = Rows("part", {"id": "bigint", "start": "bigint", "stop": "bigint", "held_up": "boolean"})

_REPLACE = Statement(
    """
WITH whole AS (DELETE FROM journeys_chunk WHERE id = ANY({ids}::bigint[]) RETURNING *)
INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
SELECT whole.workspace_id, whole.trigger_id, part.start, part.stop, whole.lane, whole.turn_at,
       now() + CASE WHEN part.held_up THEN {seconds} ELSE 0 END * interval '1 second', part.held_up::int,
       CASE WHEN part.held_up THEN {error} ELSE '' END
FROM {parts} JOIN whole ON whole.id = part.id
""",
    parts=_PARTS,
)


def part_from_locked(claimed: Sequence[ClaimedChunk], *, error: str, seconds: float) -> bool:
    """Makes each job whose customer is locked a chunk of its own, due after `seconds`; the rest is due at once.

    Returns False, having changed nothing, if too many are locked. None of it counts as an attempt at the rest.
    """
    with transaction.atomic():
        chunks = lock_chunks(claimed)
        if not chunks:
            return True
        locked = locked_jobs(chunks)
        if len(locked) > _MOST:
            return False
        parts = [
            (chunk.id, *part)
            for chunk in chunks
            for part in _parted(chunk, [ordinal for trigger_id, ordinal in locked if trigger_id == chunk.trigger_id])
        ]
        _REPLACE.execute(ids=[chunk.id for chunk in chunks], parts=parts, seconds=seconds, error=error)
    return True


def _parted(chunk: ClaimedChunk, locked: Sequence[int]) -> Iterator[_Part]:
    start = chunk.start
    for ordinal in sorted(ordinal for ordinal in locked if chunk.start <= ordinal < chunk.stop):
        if start < ordinal:
            yield start, ordinal, False
        yield ordinal, ordinal + 1, True
        start = ordinal + 1
    if start < chunk.stop:
        yield start, chunk.stop, False
