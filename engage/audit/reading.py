"""A workspace's entries, in an order to which none is added later.

An entry is there once its transaction commits, and transactions may take long. So an entry gets its position not when
it is written, but by the first reader after it is committed: who has read up to a position has missed nothing.
"""

from collections.abc import Sequence

from django.db import transaction

from engage.database.positions import READ_AGAIN_SECONDS, SECONDS_SINCE_2020, CursorFromAnotherHistory
from engage.database.sql import Statement
from engage.models import AuditEntry

_LOCK = Statement("SELECT pg_advisory_xact_lock(hashtext('engage_audit_position'))")
# Of each workspace in the order of `at`, behind its last.
_GIVE_POSITIONS = Statement(
    """
WITH fresh AS MATERIALIZED (
    SELECT id, workspace_id, row_number() OVER (PARTITION BY workspace_id ORDER BY at, id) AS place
    FROM (SELECT id, workspace_id, at FROM engage_auditentry WHERE position IS NULL ORDER BY at, id LIMIT {most}) AS few
), begun AS MATERIALIZED (
    SELECT workspace_id, greatest({now} - 1, (
        SELECT max(position) FROM engage_auditentry known WHERE known.workspace_id = own.workspace_id
    )) AS last
    FROM (SELECT DISTINCT workspace_id FROM fresh) AS own
)
UPDATE engage_auditentry SET position = begun.last + fresh.place
FROM fresh JOIN begun ON begun.workspace_id IS NOT DISTINCT FROM fresh.workspace_id
WHERE engage_auditentry.id = fresh.id
""",
    now=SECONDS_SINCE_2020,
)
_LAST = Statement(
    """
SELECT coalesce(last, {now}), coalesce((
    SELECT max(position) FROM engage_auditentry
    WHERE workspace_id = {workspace_id} AND position <= last - {read_again}
), 0) FROM (SELECT max(position) AS last FROM engage_auditentry WHERE workspace_id = {workspace_id}) AS whole
""",
    now=SECONDS_SINCE_2020,
    read_again=str(READ_AGAIN_SECONDS),
)
_AT_ONCE = 10_000


def entries_after(*, workspace_id: str, position: int, limit: int) -> Sequence[AuditEntry]:
    """At most `limit` entries of the workspace after this position, in their order.

    Raises CursorFromAnotherHistory for a position ahead of the last; where nothing is kept, one ahead of the clock.
    """
    with transaction.atomic():
        _LOCK.execute()
        _GIVE_POSITIONS.execute(most=_AT_ONCE)
        own = AuditEntry.objects.filter(workspace_id=workspace_id, position__gt=position)
        entries = list(own.order_by("position")[:limit])
    if not entries and position:
        ((last, again),) = _LAST.rows(workspace_id=workspace_id)
        if position > last:
            raise CursorFromAnotherHistory(str(again))
    return entries
