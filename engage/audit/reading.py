"""A workspace's entries, in an order to which none is added later.

An entry is there once its transaction commits, and transactions may take long. So an entry gets its position not when
it is written, but by the first reader after it is committed: who has read up to a position has missed nothing.
"""

from collections.abc import Sequence

from django.db import transaction

from engage.database.sql import Statement
from engage.models import AuditEntry

_LOCK = Statement("SELECT pg_advisory_xact_lock(hashtext('engage_audit_position'))")
# The positions are drawn once, in the order of the subquery.
_GIVE_POSITIONS = Statement("""
WITH fresh AS MATERIALIZED (
    SELECT id, nextval('engage_audit_position') AS position
    FROM (SELECT id FROM engage_auditentry WHERE position IS NULL ORDER BY at, id LIMIT {most}) AS ordered
)
UPDATE engage_auditentry SET position = fresh.position FROM fresh WHERE engage_auditentry.id = fresh.id
""")
_AT_ONCE = 10_000


def entries_after(*, workspace_id: str, position: int, limit: int) -> Sequence[AuditEntry]:
    """At most `limit` entries of the workspace after this position, in their order."""
    with transaction.atomic():
        _LOCK.execute()
        _GIVE_POSITIONS.execute(most=_AT_ONCE)
        own = AuditEntry.objects.filter(workspace_id=workspace_id, position__gt=position)
        return list(own.order_by("position")[:limit])
