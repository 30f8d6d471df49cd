"""Which addresses are not written to, asked for by their digests, which is all that is kept of them."""

from collections.abc import Collection, Mapping

from customers.contact.deciding import Reach
from customers.contact.reach import SOFT_BOUNCES
from engage.database.known_values import known_value
from engage.database.sql import Rows, Statement

Address = tuple[str, str, str]  # the id of its workspace, its channel and its digest

_REACH = Statement(
    """
SELECT asked.workspace_id, asked.channel, asked.digest, known.reason FROM {asked}
CROSS JOIN LATERAL (
    SELECT * FROM customers_suppression known
    WHERE known.workspace_id = asked.workspace_id AND known.channel = asked.channel AND known.digest = asked.digest
    LIMIT 1
) AS known
WHERE known.reason <> 'soft_bounce' OR known.soft_bounces >= {soft_bounces}
""",
    asked=Rows("asked", {"workspace_id": "text", "channel": "text", "digest": "text"}),
)


def reach_by_digest(addresses: Collection[Address]) -> Mapping[Address, frozenset[Reach]]:
    """Why each of these is not written to, in one statement; those that are, lack."""
    rows = _REACH.rows(asked=sorted(addresses), soft_bounces=SOFT_BOUNCES) if addresses else ()
    return {
        (workspace_id, *address): frozenset({known_value(Reach, reason) or Reach.MANUAL})
        for workspace_id, *address, reason in rows
    }
