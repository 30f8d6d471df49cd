"""Claims due deliveries: as many as can be sent at once, and for no host more than it has room for.

1. A claim is one committed statement. It leases the delivery by postponing its due time for longer than a request can
   take: no other sender sends it meanwhile, and if the sender dies it is claimed again.
2. The hosts at which something is due are found by their notes (due_hosts.py), however many deliveries wait, and at
   however many other hosts.
3. Hosts with the fewest requests in flight come first. Each gets an equal share, the earliest due first. But before
   that, workspaces take turns: one with few requests in flight comes before one with many, however many hosts it has.
4. A host whose circuit is open is passed over, and of other hosts each source whose own is. Once that time is over, one
   sender may let one delivery through, and its claim opens the circuit again. A host's sources probe it in turn.
5. A host that is held is passed over, too. One with a rate gets no more than it is due: the claim notes when the next
   request may begin, and locks what it notes, so senders share the rate. So does a connection: of its rate and its
   host's, the lower counts.
6. A delivery whose journey is held is suspended. The journey's row is locked against a resumption meanwhile, which
   therefore finds it. A claim may be older than a hold that has been answered, so an attempt only begins for a moment
   after its claim began to look; later, it is looked at again, or given back.
7. What was asked about when its step began is asked about again, and dropped if it may not be sent any more
   (asking_again.py).
8. What goes by a connection is filled in anew if that was changed (by_connection.py).
9. A delivery that cannot be read, because the key is missing that decrypts it, or a later version has stored it, costs
   the others nothing: it keeps its lease, and its `result` says why it waits. No attempt is used up. So do pushes.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from engage.credentials.encryption import decrypted, decrypted_json
from engage.database.sql import Rows, Statement
from engage.process.request_log import Trail
from journeys.engine.webhooks.asking_again import without_barred
from journeys.engine.webhooks.by_connection import filled_in
from journeys.engine.webhooks.claim_statements import BEGIN_SECONDS, CLAIM, LEASE_SECONDS, NOT_HELD
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.models.credentials import SECRET_URL
from journeys.models.webhooks import webhook_id_of
from journeys.rules.failures import for_the_record
from journeys.steps.answer_rules import stored_answer_rules

log = structlog.get_logger(__name__)
_CLAIM_SECONDS = 0.25  # a claim that takes longer is looked at again


@dataclass(frozen=True, kw_only=True)
class ClaimedDelivery:
    """A delivery to be sent now, as attempt `number`. `secrets` sign it, the current one first.

    The call that it goes back to left the `trail`. It was claimed `at` that time, `seconds_late` after it was due.
    """

    id: int
    workspace_id: str
    webhook_id: str
    host: str
    source: str
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: str | None = field(repr=False)
    number: int
    again: bool
    give_up_at: datetime | None
    answer_rules: str | None = field(repr=False)
    probes_host: bool
    probes_source: bool
    secrets: tuple[str, ...] = field(repr=False)
    at: datetime
    seconds_late: float
    leased_until: str
    asked: float = field(repr=False)
    is_push: bool = False  # of a subscription (journeys/subscription/pushing/)
    enrollment_id: str = ""
    trigger_id: str | None = None
    trail: Trail = field(default_factory=Trail)
    _counted_from: float = field(default_factory=time.monotonic, repr=False)

    @property
    def names(self) -> dict[str, Any]:
        """What a line of the log names of it."""
        return names_of(vars(self))

    @property
    def probe(self) -> bool:
        """Whether it is the one request that an open circuit lets through."""
        return self.probes_host or self.probes_source

    def may_begin(self) -> bool:
        """Whether nothing can have been held since that this does not know of, and that was answered."""
        return time.monotonic() - self.asked < BEGIN_SECONDS

    @property
    def left(self) -> float:
        """Seconds until it is given up; less than 0 if it is too late for an attempt."""
        return math.inf if self.give_up_at is None else (self.give_up_at - self.now()).total_seconds()

    @property
    def seconds_overdue(self) -> float:
        """By now."""
        return self.seconds_late + (self.now() - self.at).total_seconds()

    def now(self) -> datetime:
        """The time by the database's clock: when the delivery was claimed, plus the seconds since."""
        return self.at + timedelta(seconds=time.monotonic() - self._counted_from)


_GIVE_BACK = Statement(
    """
UPDATE journeys_webhookdelivery delivery SET due_at = now()
FROM {unsent} WHERE delivery.id = ANY(ARRAY[unsent.id]) AND delivery.attempts = unsent.number - 1
  AND delivery.due_at = unsent.leased_until AND delivery.state || '' = 'waiting'
""",
    unsent=Rows("unsent", {"id": "bigint", "number": "int", "leased_until": "timestamptz"}),
)
_SAY_WHY = """
UPDATE {table} delivery SET result = unready.reason
FROM {unready} WHERE delivery.id = ANY(ARRAY[unready.id]) AND delivery.state || '' = 'waiting'
  AND delivery.result <> unready.reason
"""
_SAY_WHY_OF_WEBHOOKS, SAY_WHY_OF_PUSHES = (
    Statement(_SAY_WHY, table=table, unready=Rows("unready", {"id": "bigint", "reason": "text"}))
    for table in ("journeys_webhookdelivery", "journeys_push")
)


def claim_due(slots: HostSlots) -> list[ClaimedDelivery]:
    """Claims deliveries to send now, no more than there is room for; notes whether hosts have more than their rate."""
    while True:
        asked = time.monotonic()
        found = CLAIM.records(
            free=slots.free,
            room=slots.of_a_host,
            lease=LEASE_SECONDS,
            hosts=list(slots.of_known_hosts()),
            workspaces=list(slots.of_workspaces.items()),
        )
        slots.paced, suspended = found[0]["paced"], found[0]["suspended"]
        rows = without_barred(taken := [row for row in found if row["id"] is not None])
        barred = len(taken) - len(rows)
        rows, back = filled_in(rows)
        if back:
            _GIVE_BACK.execute(unsent=[(row["id"], row["number"], row["leased_until"]) for row in back])
        rows = [traced(row) for row in rows]
        claimed, unready = opened(rows, partial(_claimed, asked=asked), _SAY_WHY_OF_WEBHOOKS)
        if claimed or not (unready or suspended or back or barred):
            break
    return _confirmed(claimed, asked)


def traced(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a delivery, read with CALLED, with its `webhook_id` and `trail`."""
    trail = Trail(request_id=row.pop("request_id") or "", traceparent=row.pop("traceparent"))
    return row | {"webhook_id": webhook_id_of(row["enrollment_id"], row.pop("ordinal")), "trail": trail}


def names_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a line of the log names of a traced row."""
    trail: Trail = row["trail"]
    return {**{name: row[name] for name in ("webhook_id", "enrollment_id", "trigger_id")}, **trail.names()}


def opened(
    rows: Sequence[dict[str, Any]], read: Callable[[dict[str, Any]], ClaimedDelivery | None], say_why: Statement
) -> tuple[list[ClaimedDelivery], int]:
    """The claimed rows as they are sent, and how many cannot be: each says why. None: there is nothing to send."""
    claimed, unready, names = list[ClaimedDelivery](), list[tuple[int, str]](), list[dict[str, Any]]()
    for row in rows:
        try:
            if one := read(row):
                claimed.append(one)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others are sent
            unready.append((row["id"], for_the_record(error)))
            names.append(names_of(row) if "trail" in row else {"push_id": row["id"]})
    if unready:
        log.warning("webhooks_unready", webhooks=len(unready), of=names, error=unready[0][1])
        say_why.execute(unready=unready)
    return claimed, len(unready)


def secrets_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What signs a claimed row, the current secret first; its workspace gets one if it has none yet."""
    workspace_id = row["workspace_id"]
    return tuple(map(decrypted, row["secrets"])) or (current_secrets([workspace_id])[workspace_id],)


def _confirmed(claimed: list[ClaimedDelivery], asked: float) -> list[ClaimedDelivery]:
    """Those that are still not held, if the claim took a while; the others are given back."""
    if not claimed or time.monotonic() - asked < _CLAIM_SECONDS:
        return claimed
    asked = time.monotonic()
    fine = set(NOT_HELD.column(ids=[one.id for one in claimed]))
    release([one for one in claimed if one.id not in fine])
    return [replace(one, asked=asked) for one in claimed if one.id in fine]


def release(unsent: Sequence[ClaimedDelivery]) -> None:
    """Makes deliveries due at once whose attempts have not begun; the claims do not count."""
    if unsent:
        _GIVE_BACK.execute(unsent=[(one.id, one.number, one.leased_until) for one in unsent])


def _claimed(row: dict[str, Any], *, asked: float) -> ClaimedDelivery:
    headers = dict(decrypted_json(json.loads(row["headers"])))
    if row["answer_rules"] is not None:
        stored_answer_rules(row["answer_rules"])  # raises what the answer would, once the request is sent
    known = row | {"url": headers.pop(SECRET_URL, row["url"]), "headers": headers, "secrets": secrets_of(row)}
    del known["suspended"], known["paced"]
    return ClaimedDelivery(asked=asked, **known)
