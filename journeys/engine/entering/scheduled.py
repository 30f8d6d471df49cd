"""What is scheduled comes due: its chunks, which waited outside of the lanes, are put into one.

Until then a call can be taken back, exactly as before a decision. Many single calls for one moment are decided as a
call for many is, so that nobody else waits behind them.
"""

from engage.database.sql import Statement
from journeys.engine.entering.by_event import A_FEW

_MOST = 10_000

_COME_DUE = Statement("""
WITH due AS MATERIALIZED (
    SELECT id, trigger_id, workspace_id FROM journeys_chunk
    WHERE lane = 'scheduled' AND due_at <= now() ORDER BY due_at LIMIT {most} FOR UPDATE SKIP LOCKED
), placed AS MATERIALIZED (
    SELECT due.id, CASE WHEN called.form = 'single' AND count(*) OVER (
        PARTITION BY due.workspace_id, called.form
    ) <= {a_few} THEN 'single' ELSE 'bulk' END AS lane
    FROM due
    CROSS JOIN LATERAL (SELECT form FROM journeys_trigger known WHERE known.id = due.trigger_id LIMIT 1) AS called
)
UPDATE journeys_chunk chunk SET lane = placed.lane FROM placed WHERE chunk.id = ANY(ARRAY[placed.id])
""")


def come_due() -> bool:
    """Puts what is due into the lanes, as much as one statement should; whether there was anything."""
    return _COME_DUE.execute(most=_MOST, a_few=A_FEW) > 0
