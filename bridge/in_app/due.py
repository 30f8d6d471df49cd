"""What is due for a person: one statement, and nothing else where the page has it already.

What has been shown is due as well until it is over: a page that is loaded again shows the same banner again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

import structlog

from bridge.in_app.readers import Reader
from bridge.messages.content import Content, parse_content
from bridge.messages.definition import parse_definition
from customers.identity.identifiers import match_or_alias_query
from engage.database.sql import Fragment, Statement
from engage.errors import Refusal
from engage.http.preconditions import is_named
from engage.json.instants import iso_utc
from engage.json.key_order import in_key_order
from engage.notations.sizes import KIB
from engage.process.bounded_cache import BoundedCache
from engage.process.budget import current, third
from journeys.engine.enrollments.knowledge import customer_facts
from journeys.rendering import Rendering
from journeys.steps.context import fields_of
from journeys.steps.results import StepFailed

log = structlog.get_logger(__name__)
MOST = 10
_MOST_LEFT_OUT = 90  # of those that cannot be rendered, before what is behind them is not told either
_COLUMNS = ("id", "workspace_id", "external_id", "email", "phone", "user_id", "claimed_identifiers", "attributes")
_ANYBODY = Fragment("true")
_ANONYMOUS = Fragment(
    "customer.external_id IS NULL AND customer.email IS NULL AND customer.phone IS NULL"
    " AND 'user_id' = ANY(customer.claimed_identifiers)"
)
_DUE = Statement("""
SELECT customer.id AS customer_id, customer.external_id, customer.email, customer.phone, customer.user_id,
       customer.attributes, delivery.id, delivery.values, delivery.created_at, delivery.expires_at,
       message.key, message.content, message.actions, message.forms, message.key_orders
FROM ({match}) AS customer
CROSS JOIN LATERAL (
    SELECT * FROM journeys_inappdelivery known
    WHERE known.customer_id = customer.id AND known.ended_at IS NULL AND known.expires_at > now()
) AS delivery
CROSS JOIN LATERAL (
    SELECT * FROM bridge_message known
    WHERE known.workspace_id = customer.workspace_id AND known.key = delivery.message_id LIMIT 1
) AS message
WHERE {who} AND message.status = 'active' AND message.content IS NOT NULL
ORDER BY delivery.priority DESC, delivery.created_at, delivery.id LIMIT {most}
""")
_contents: BoundedCache[tuple[str, str, str], Content] = BoundedCache(most=8 * 1024 * KIB)
_BYTES_OF_JSON = 12


@dataclass(frozen=True, kw_only=True)
class DueDelivery:
    """A delivery with its message, as it is told to the person's page."""

    delivery_id: str
    message_id: str
    kind: str
    content: Mapping[str, Any]
    actions: Sequence[Mapping[str, Any]]
    forms: Sequence[Mapping[str, Any]]
    expires_at: datetime


Rendered = dict[str, DueDelivery | None]  # by the tag of what they were rendered from; None: it failed


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is due, with a tag that tells it from anything else that was; None in place of what the page has.

    `read` counts the deliveries that were looked at.
    """

    etag: str
    deliveries: Sequence[DueDelivery] | None
    read: int


def due_for(reader: Reader | None, *, etag: str | None = None, rendered: Rendered | None = None) -> Found:
    """At most MOST deliveries, by priority, then age; none if nobody is known. `etag` is what the page has, as in
    `If-None-Match`.

    A message whose templates fail for this person is left out, and others come instead. Once the call's time is up,
    what is ready is all, and has a tag of its own. `reader` None: nothing is due, and nothing is read. `rendered` has
    what the same call has rendered before, and keeps what it renders.
    """
    rendered = {} if rendered is None else rendered
    found = _found(reader, MOST, etag, rendered)
    if found.deliveries is not None and len(found.deliveries) < MOST == found.read and current().left > 0:
        return _found(reader, MOST + _MOST_LEFT_OUT, etag, rendered)
    return found


def _found(reader: Reader | None, most: int, etag: str | None, rendered: Rendered) -> Found:
    rows = [] if reader is None else _rows(reader, most)
    now_there = _etag(rows)
    if is_named(now_there, etag):
        return Found(etag=now_there, deliveries=None, read=len(rows))
    ready = list[DueDelivery]()
    for row in rows:
        key = _etag([row])
        if key not in rendered:
            if current().left <= 0:
                return Found(etag=f'{now_there[:-1]}-"', deliveries=ready, read=len(rows))
            with third():
                rendered[key] = _delivery(row)
        if (one := rendered[key]) is not None:
            ready.append(one)
        if len(ready) == MOST:
            break
    return Found(etag=now_there, deliveries=ready, read=len(rows))


def _rows(reader: Reader, most: int) -> Sequence[Mapping[str, Any]]:
    match = match_or_alias_query(
        workspace_id=reader.workspace_id, known_by=reader.known_by, columns=_COLUMNS, is_proven=reader.is_proven
    )
    who = _ANONYMOUS if reader.must_be_anonymous else _ANYBODY
    return _DUE.records(match=match, who=who, most=most)


def _etag(rows: Sequence[Mapping[str, Any]]) -> str:
    digest = blake2b(digest_size=12)
    for row in rows:
        digest.update(repr([*row.values()]).encode(errors="surrogatepass"))
    return f'"{digest.hexdigest()}"'


def _delivery(row: Mapping[str, Any]) -> DueDelivery | None:
    facts = customer_facts(row, json.loads(row["attributes"]))
    # The moment in it is that of the delivery, so that what has one tag has one text.
    now = iso_utc(row["created_at"])
    scope = {"customer": fields_of(facts), "values": json.loads(row["values"]), "now": now}
    try:
        content = _content(row)
        rendered = content.rendered(Rendering(lambda: scope))
    except (Refusal, StepFailed) as problem:
        log.warning("in_app_not_rendered", delivery_id=row["id"], why=type(problem).__name__)
        return None
    return DueDelivery(
        delivery_id=row["id"],
        message_id=row["key"],
        kind=content.kind.value,
        content=rendered,
        actions=json.loads(row["actions"]),
        forms=in_key_order(json.loads(row["forms"]), json.loads(row["key_orders"]).get("forms", [])),
        expires_at=row["expires_at"],
    )


def _content(row: Mapping[str, Any]) -> Content:
    """Of most messages, nothing has changed since they were read last."""
    written = row["content"], row["actions"], row["forms"]
    known = _contents.get(written)
    if known is None:
        definition = parse_definition(actions=json.loads(row["actions"]), forms=json.loads(row["forms"]))
        known = parse_content(json.loads(row["content"]), definition=definition, stored=True)
        if known is None:
            raise ValueError("A message without content was chosen.")
        _contents.keep(written, known, size=_BYTES_OF_JSON * sum(map(len, written)))
    return known
