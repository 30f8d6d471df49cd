"""Notes of the hosts at which webhooks are due (HostDue), so that a claim looks at no others.

1. Whatever makes a delivery wait, or due earlier, leaves a note of its host and time in the same transaction: triggers
   of the database see to that, for every statement and for versions that know no notes. Notes are only added, so nobody
   waits for anybody.
2. A claim puts off what it takes, and touches no note. So hosts remain noted at which nothing is due any more. `settle`
   replaces the notes of such a host by one that says when something will be. It sees notes and deliveries of one
   moment: a note that it takes away came with a delivery that it sees, and one that it does not see stays.
3. If notes are lost all the same, or deliveries have waited since before there were any, `repair` finds the hosts by
   skipping through the index of what waits.
"""

import time

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Statement

_REPAIR_SECONDS = 60.0
_repaired_at = -_REPAIR_SECONDS
_FIRST = """
    SELECT due_at FROM journeys_webhookdelivery, {in_index_order}
    WHERE state = 'waiting' AND workspace_id = one.workspace_id AND host = one.host ORDER BY due_at LIMIT 1
"""
_SETTLE = Statement(
    """
WITH noted AS MATERIALIZED (
    SELECT workspace_id, host, array_agg(id) AS ids FROM journeys_hostdue WHERE due_at <= now()
    GROUP BY workspace_id, host
), settled AS MATERIALIZED (
    SELECT one.*, first.due_at FROM noted one LEFT JOIN LATERAL ({first}) AS first ON true
    WHERE first.due_at IS NULL OR first.due_at > now() OR cardinality(ids) > 1
), mine AS MATERIALIZED (
    SELECT id FROM journeys_hostdue WHERE id = ANY(ARRAY(SELECT unnest(ids) FROM settled)) FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM journeys_hostdue WHERE id = ANY(ARRAY(SELECT id FROM mine))
)
INSERT INTO journeys_hostdue (workspace_id, host, due_at)
SELECT workspace_id, host, due_at FROM settled WHERE due_at IS NOT NULL
""",
    first=_FIRST,
    in_index_order=IN_INDEX_ORDER,
)
_REPAIR = Statement(
    """
WITH RECURSIVE hosts AS (
    (SELECT workspace_id, host FROM journeys_webhookdelivery, {in_index_order} WHERE state = 'waiting'
     ORDER BY workspace_id, host LIMIT 1)
    UNION ALL
    SELECT following.workspace_id, following.host FROM hosts CROSS JOIN LATERAL (
        SELECT workspace_id, host FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND (workspace_id, host) > (hosts.workspace_id, hosts.host)
        ORDER BY workspace_id, host LIMIT 1
    ) AS following
), noted AS MATERIALIZED (
    SELECT workspace_id, host, min(due_at) AS due_at FROM journeys_hostdue GROUP BY workspace_id, host
)
INSERT INTO journeys_hostdue (workspace_id, host, due_at)
SELECT one.workspace_id, one.host, first.due_at FROM hosts one CROSS JOIN LATERAL ({first}) AS first
LEFT JOIN noted USING (workspace_id, host)
WHERE noted.due_at IS NULL OR noted.due_at > first.due_at
""",
    first=_FIRST,
    in_index_order=IN_INDEX_ORDER,
)


def keep_notes() -> None:
    """Settles, and repairs when this process begins, and once a minute."""
    global _repaired_at  # noqa: PLW0603 (of this process)
    settle()
    if time.monotonic() - _repaired_at > _REPAIR_SECONDS:
        repair()
        _repaired_at = time.monotonic()


def settle() -> None:
    """Takes away the notes of hosts at which nothing is due; leaves one that says when something will be."""
    _SETTLE.execute()


def repair() -> None:
    """Notes the hosts at which something waits, and of which no note is early enough."""
    _REPAIR.execute()
