"""What was recorded of messages in the last seven days, read from bounded ranges of indexes.

A day is one of UTC. What counts is when the service recorded something, which its id tells, not when a page says that
it happened: so a range of ids is a range of an index.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bridge.lately import counted_lately, since
from bridge.models import Message
from engage.database.object_ids import first_id_at
from engage.database.sql import Rows, Statement
from engage.redis.metric_counters import MESSAGE_REFUSALS

COUNTED_AT_MOST = 10_000  # of each message of a list


@dataclass(frozen=True, kw_only=True)
class Recent:
    """How often a message was used, how often its apps let something through that it does not list, and refused it.

    The first two are counted up to COUNTED_AT_MOST. `refused` is None while Redis is away.
    """

    clicks: int
    reported: int
    refused: int | None


_COUNTED = """
CROSS JOIN LATERAL (SELECT count(*) AS number FROM (
    SELECT 1 FROM bridge_interaction one
    WHERE one.message_id = named.key AND one.workspace_id = named.workspace_id AND one.id >= {since} {which}
    LIMIT {most}) AS counted) AS
"""
_RECENT = Statement(
    "SELECT named.id, clicks.number AS clicks, reported.number AS reported "
    "FROM {named} {clicks} clicks {problems} reported",
    named=Rows("named", {"id": "text", "workspace_id": "text", "key": "text"}),
    clicks=_COUNTED.replace("{which}", ""),
    problems=_COUNTED.replace("{which}", "AND one.message_problems IS NOT NULL"),
)


def recent_figures(messages: Iterable[Message], *, now: datetime) -> Mapping[str, Recent]:
    """The figures of the last seven days by the message's id: one statement, whatever the number of messages."""
    named = [(message.pk, message.workspace_id, message.key) for message in messages]
    if not named:
        return {}
    counted = _RECENT.records(named=named, since=first_id_at(since(now)), most=COUNTED_AT_MOST)
    counts = _refused(now)
    refused: Counter[str] = Counter()
    for (message_id, _), number in (counts or {}).items():
        refused[message_id] += number
    return {
        row["id"]: Recent(
            clicks=row["clicks"],
            reported=row["reported"],
            refused=None if counts is None else refused[row["id"]],
        )
        for row in counted
    }


_REPORTED = Statement("""
SELECT newest.reason, count(*) FROM (
    SELECT one.message_problems -> 0 ->> 'reason' AS reason FROM bridge_interaction one
    WHERE one.message_id = {key} AND one.workspace_id = {workspace_id} AND one.id >= {since}
      AND one.message_problems IS NOT NULL
    ORDER BY one.id DESC LIMIT {most}
) AS newest
GROUP BY newest.reason
""")


def reported_by_reason(message: Message, *, now: datetime) -> Mapping[str, int]:
    """What apps that report would have refused in seven days, by the first reason; of COUNTED_AT_MOST at most."""
    rows = _REPORTED.rows(
        key=message.key, workspace_id=message.workspace_id, since=first_id_at(since(now)), most=COUNTED_AT_MOST
    )
    return dict(rows)


def refused_by_reason(message: Message, *, now: datetime) -> Mapping[str, int] | None:
    """What was refused in seven days, by the first reason; None while Redis is away."""
    counted = _refused(now)
    if counted is None:
        return None
    return {reason: number for (message_id, reason), number in counted.items() if message_id == message.pk}


def _refused(now: datetime) -> Counter[tuple[str, str]] | None:
    """What was refused in seven days, by the message's id and the reason."""
    counted = counted_lately(MESSAGE_REFUSALS, now=now)
    if counted is None:
        return None
    refused: Counter[tuple[str, str]] = Counter()
    for (_, _, _, message_id, reason), number in counted.items():
        refused[message_id, reason] += number
    return refused
