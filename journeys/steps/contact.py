"""What is known of a customer when a step asks whether it may write to them, and what comes of asking.

A walk that sends twice is counted twice: the rings here are those that the walk will leave behind. Who has no such
values is not asked about: their workspace has no topics and no rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, NamedTuple, Protocol

from customers.contact.caps import ring_with
from customers.contact.consent import NOTHING_KNOWN, Consent
from customers.contact.deciding import (
    NO_POLICY,
    Decision,
    Message,
    Person,
    Policy,
    Reach,
    TopicRule,
    Verdict,
    may_contact,
    with_own_cap,
)
from customers.contact.policy import ContactPolicy
from customers.contact.windows import Window
from engage.json.instants import iso_utc

OTHER = "other"  # the channel of a connection that writes to nobody in particular: it is not asked about


class Addresses(Protocol):
    """What is known of addresses."""

    def digest(self, channel: str, address: str) -> str: ...

    def reach(self, channel: str, address: str) -> frozenset[Reach]:
        """Why it is not written to. If that has yet to be looked up, the walk is repeated where it is not empty."""


class Asked(NamedTuple):
    """What was asked and decided: the message's channel, topic and address (a digest), and the caps that count it."""

    verdict: Verdict
    rule: str
    words: str
    until: datetime | None
    channel: str
    topic: str | None
    transactional: bool
    address: str
    rings: Mapping[str, Sequence[datetime]]
    at: datetime

    @property
    def policy(self) -> dict[str, Any]:
        """As the history tells it."""
        until = self.until and iso_utc(self.until)
        return {"verdict": self.verdict, "rule": self.rule or None, "until": until or None, "topic": self.topic}

    @property
    def of_delivery(self) -> dict[str, Any]:
        """By which its attempts ask again, and by which it is given back to its caps."""
        return {
            "channel": self.channel,
            "topic": self.topic,
            "transactional": self.transactional,
            "address": self.address,
            "caps": list(self.rings),
            "at": self.at.isoformat(),
        }


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message that a step is about to send. `since`: it has waited since then; `give_up_after` counts from there."""

    channel: str
    address: str = ""
    topic: str | None = None
    transactional: bool = False
    window: Window | None = None
    since: datetime | None = None
    give_up_after: timedelta | None = None


@dataclass(kw_only=True)
class Contact:
    """One customer, in one walk. `topic` is the journey's; `consents` are by topic and channel."""

    person_id: str
    addresses: Addresses
    policy: ContactPolicy
    topics: Mapping[str, TopicRule]
    consents: Mapping[tuple[str, str], Consent]
    rings: dict[str, Sequence[datetime]]
    topic: str | None = None
    waiting_since: datetime | None = None

    def ask(self, sent: Sent, *, zone: tzinfo, now: datetime) -> Asked:
        """Decides, and counts the message if it may be sent. `zone` is the customer's."""
        topic = sent.topic if sent.transactional else sent.topic or self.topic
        says_it = topic is not None or sent.transactional  # who says neither asks for the reach alone
        policy = with_own_cap(self.policy.rules, self.rings) if says_it else NO_POLICY
        decision = self._decision(sent, topic, policy, zone, now)
        rings = self._counted(sent, topic, policy, now) if decision.verdict == "send" else {}
        return Asked(
            verdict=decision.verdict,
            rule=decision.rule,
            words=decision.words,
            until=decision.until,
            channel=sent.channel,
            topic=topic,
            transactional=sent.transactional,
            address=self.addresses.digest(sent.channel, sent.address) if sent.address else "",
            rings=rings,
            at=now,
        )

    def _decision(self, sent: Sent, topic: str | None, policy: Policy, zone: tzinfo, now: datetime) -> Decision:
        person = Person(
            id=self.person_id,
            zone=zone,
            consent=self.consents.get((topic, sent.channel), NOTHING_KNOWN) if topic else NOTHING_KNOWN,
            reach=self.addresses.reach(sent.channel, sent.address) if sent.address else frozenset(),
            rings=self.rings,
        )
        message = Message(
            channel=sent.channel,
            topic=topic_rule(topic, self.topics) if topic else None,
            transactional=sent.transactional,
            window=sent.window,
            waiting_since=sent.since,
        )
        decision = may_contact(message, person, policy=policy, now=now)
        if decision.verdict != "wait" or decision.until is None or sent.give_up_after is None:
            return decision
        if decision.until <= (sent.since or now) + sent.give_up_after:
            return decision
        words = f"{decision.words.removesuffix('.')}; it is given up before (giveUpAfter)."
        return replace(decision, verdict="skip", words=words)

    def _counted(
        self, sent: Sent, topic: str | None, policy: Policy, now: datetime
    ) -> Mapping[str, Sequence[datetime]]:
        counting = (
            cap
            for cap in policy.caps
            if cap.counts(channel=sent.channel, topic=topic, transactional=sent.transactional)
        )
        rings = {cap.key: ring_with(self.rings.get(cap.key, ()), now, at_most=cap.at_most) for cap in counting}
        self.rings |= rings
        return rings


def topic_rule(key: str, topics: Mapping[str, TopicRule]) -> TopicRule:
    """Of a topic that is not there any more nothing may be assumed: it needs a consent."""
    return topics.get(key) or TopicRule(key=key, default="opted_out")
