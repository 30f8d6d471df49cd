"""Asks again, as attempts are claimed, whether what they send may still be sent: reach and consent, in sets.

What was counted by caps stays counted. Only what was asked about when its step began is asked about again.
"""

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from django.db import transaction

from customers.contact.consent import NOTHING_KNOWN, Consent, State
from customers.contact.deciding import Message, Person, may_contact
from customers.contact.suppressed import reach_by_digest
from customers.models import Topic
from engage.database.known_values import known_value
from engage.database.sql import Statement
from journeys.engine.connections.contacts import rule_of
from journeys.engine.webhooks.dropping import Barred, drop
from journeys.steps.contact import topic_rule

_KNOWN = Statement("""
SELECT asked.id, entered.customer_id, held.state, held.since, held.until, now() AS now
FROM unnest({ids}::bigint[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_webhookdelivery known WHERE known.id = asked.id LIMIT 1) AS sent
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1) AS entered
LEFT JOIN LATERAL (
    SELECT * FROM customers_consent known
    WHERE known.customer_id = entered.customer_id AND known.topic = sent.contact->>'topic'
      AND known.channel = sent.contact->>'channel' LIMIT 1
) AS held ON true
""")


def without_barred(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The claimed rows that may be sent, without `contact`; the others are dropped. No statement where none is asked
    about.
    """
    asked = {row["id"]: json.loads(contact) for row in rows if (contact := row.pop("contact")) is not None}
    if not asked:
        return list(rows)
    barred = _barred(asked, {row["id"]: row["workspace_id"] for row in rows})
    if not barred:
        return list(rows)
    with transaction.atomic():
        drop(barred, wait=False)  # what is passed over keeps its lease, and is asked about when that is over
    gone = {one.id for one in barred}
    return [row for row in rows if row["id"] not in gone]


def _held(row: dict[str, Any]) -> Consent:
    if row["state"] is None:
        return NOTHING_KNOWN
    return Consent(known_value(State, row["state"]) or State.UNSUBSCRIBED, row["since"], row["until"])


def _barred(asked: dict[int, dict[str, Any]], workspaces: dict[int, str]) -> list[Barred]:
    addresses = {id_: (workspaces[id_], of["channel"], of["address"]) for id_, of in asked.items() if of["address"]}
    reach = reach_by_digest(set(addresses.values()))
    about = {(workspaces[id_], of["topic"]) for id_, of in asked.items() if of["topic"]}
    found = Topic.objects.filter(workspace__in={one for one, _ in about}, key__in={key for _, key in about})
    topics = {(one.workspace_id, one.key): rule_of(one) for one in (found if about else ())}
    barred = []
    for row in _KNOWN.records(ids=list(asked)):
        of, workspace_id = asked[row["id"]], workspaces[row["id"]]
        own = {key: rule for (of_workspace, key), rule in topics.items() if of_workspace == workspace_id}
        held = _held(row)
        message = Message(
            channel=of["channel"],
            topic=topic_rule(of["topic"], own) if of["topic"] else None,
            transactional=of["transactional"],
        )
        unreachable = reach.get(addresses.get(row["id"], ("", "", "")), frozenset())
        person = Person(id=row["customer_id"], zone=UTC, consent=held, reach=unreachable)
        decision = may_contact(message, person, now=row["now"])
        if decision.verdict != "send":
            barred.append(Barred(row["id"], decision.rule, decision.words))
    return barred
