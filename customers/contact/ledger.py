"""The ledger of consent in the database: acts are added, and what follows from them is written beside, in sets.

Other apps learn of it (`CHANGED`), because imports go down only: in the same transaction, so that whoever was told that
somebody has left can rely on it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from customers.contact.consent import NOTHING_KNOWN, Act, Consent, State, consent_after, stricter
from customers.models import Consent as StoredConsent
from customers.models import ConsentAct
from engage.audit.acting import current_actor
from engage.database.known_values import known_value
from engage.database.sql import Rows, Statement


class About(NamedTuple):
    """Whose will, for what, by which way."""

    customer_id: str
    topic: str
    channel: str


@dataclass(frozen=True, kw_only=True)
class NewAct:
    """An act to be recorded. `source` is one of ConsentAct.Source, `actor` who did it if it was not the person."""

    about: About
    act: Act
    source: str
    source_id: str = ""
    actor: str = ""
    text: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Change(NamedTuple):
    """What follows from recorded acts, where that differs from before."""

    workspace_id: str
    about: About
    before: Consent
    after: Consent


# Each is given what has changed; the customers are locked.
CHANGED: list[Callable[[Sequence[Change]], None]] = []

_LOCK = Statement("""
SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND id = ANY({ids}::text[])
ORDER BY id FOR NO KEY UPDATE
""")
_ACTS = Statement(
    """
SELECT act.customer_id, act.topic, act.channel, act.state, act.occurred_at, act.until
FROM {asked} JOIN customers_consentact act ON act.workspace_id = {workspace_id}
    AND act.customer_id = asked.customer_id AND act.topic = asked.topic AND act.channel = asked.channel
""",
    asked=Rows("asked", {"customer_id": "text", "topic": "text", "channel": "text"}),
)


def record_acts(*, workspace_id: str, acts: Iterable[NewAct]) -> list[Change]:
    """Adds acts to the ledger; what has changed by them. Must run in a transaction, in which it locks the customers.

    Acts about customers who are gone are left out. A constant number of statements, whatever the number of acts.
    """
    wanted = list(acts)
    if not wanted:
        return []
    there = set(_LOCK.column(workspace_id=workspace_id, ids=sorted({one.about.customer_id for one in wanted})))
    known = [one for one in wanted if one.about.customer_id in there]
    ConsentAct.objects.bulk_create(_row(workspace_id, one) for one in known)
    changes = settle(workspace_id=workspace_id, about={one.about for one in known})
    for tell in CHANGED if changes else ():
        tell(changes)
    return changes


def _row(workspace_id: str, new: NewAct) -> ConsentAct:
    return ConsentAct(
        workspace_id=workspace_id,
        customer_id=new.about.customer_id,
        topic=new.about.topic,
        channel=new.about.channel,
        state=new.act.state.value,
        until=new.act.until,
        occurred_at=new.act.at,
        source=new.source,
        source_id=new.source_id,
        actor=new.actor,
        text=new.text,
        evidence=dict(new.evidence),
    )


def settle(*, workspace_id: str, about: Iterable[About]) -> list[Change]:
    """Writes what follows from the ledger of each; what has changed. The customers are locked."""
    asked = sorted(set(about))
    acts: dict[About, list[Act]] = defaultdict(list)
    for customer_id, topic, channel, state, at, until in _ACTS.rows(asked=asked, workspace_id=workspace_id):
        acts[About(customer_id, topic, channel)].append(Act(state_of(state), at, until))
    before = consents_of(workspace_id=workspace_id, customer_ids={one.customer_id for one in asked})
    changes = [
        Change(workspace_id, one, held, after)
        for one in asked
        if (after := consent_after(acts[one])) != (held := before.get(one, NOTHING_KNOWN))
    ]
    StoredConsent.objects.bulk_create(
        [_stored(change) for change in changes],
        update_conflicts=True,
        unique_fields=["customer", "topic", "channel"],
        update_fields=["state", "since", "until"],
    )
    return changes


def unite(*, workspace_id: str, former_id: str, into_id: str, now: datetime) -> list[Change]:
    """What becomes of the will of a person of whom two were known, once all acts are `into`'s: the stricter counts.
    Both are locked, and what followed from each one's acts is still stored.

    Where the latest act says otherwise, one more is recorded, which says so: what occurs from now on counts again. What
    is requested takes away no consent, of whichever of the two that is.
    """
    held = consents_of(workspace_id=workspace_id, customer_ids=[former_id, into_id])
    about = [key._replace(customer_id=into_id) for key in held if key.customer_id == former_id]
    wanted = {key: stricter(held[key._replace(customer_id=former_id)], held.get(key, NOTHING_KNOWN)) for key in about}
    settle(workspace_id=workspace_id, about=about)
    settled = consents_of(workspace_id=workspace_id, customer_ids=[into_id])
    weaker = [key for key in about if wanted[key].state is State.UNSUBSCRIBED is not settled[key].state]
    actor, evidence = current_actor().in_words, {"merged": former_id}
    ConsentAct.objects.bulk_create(
        _row(
            workspace_id,
            NewAct(
                about=key,
                act=Act(wanted[key].state, now, wanted[key].until),
                source=ConsentAct.Source.API,
                actor=actor,
                evidence=evidence,
            ),
        )
        for key in weaker
    )
    settle(workspace_id=workspace_id, about=weaker)
    after = consents_of(workspace_id=workspace_id, customer_ids=[into_id])
    changes = [
        Change(workspace_id, key, before, after[key])
        for key in about
        if after[key] != (before := held.get(key, NOTHING_KNOWN))
    ]
    for tell in CHANGED if changes else ():
        tell(changes)
    return changes


def state_of(stored: str) -> State:
    """What a later version has stored counts as no."""
    return known_value(State, stored) or State.UNSUBSCRIBED


def _stored(change: Change) -> StoredConsent:
    about, after = change.about, change.after
    return StoredConsent(
        workspace_id=change.workspace_id,
        customer_id=about.customer_id,
        topic=about.topic,
        channel=about.channel,
        state=after.state.value,
        since=after.since,
        until=after.until,
    )


_CONSENTS = Statement("""
SELECT consent.customer_id, consent.topic, consent.channel, consent.state, consent.since, consent.until
FROM unnest({ids}::text[]) AS asked (id) JOIN customers_consent consent ON consent.customer_id = asked.id
WHERE consent.workspace_id = {workspace_id}
""")


def consents_of(*, workspace_id: str, customer_ids: Iterable[str]) -> dict[About, Consent]:
    """What is stored of these customers, in one statement; `consent_at` says what of it still holds."""
    rows = _CONSENTS.rows(workspace_id=workspace_id, ids=sorted(set(customer_ids)))
    return {
        About(customer_id, topic, channel): Consent(state_of(state), since, until)
        for customer_id, topic, channel, state, since, until in rows
    }
