"""What is known of writing to the customers of a batch: a constant number of statements, and none where none is asked.

An address is known once a step has filled it in. So the walks of a batch assume that each can be reached; what they
have asked for is looked up for all of them at once, and those walks are repeated that wrote to one that cannot.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from customers.contact.consent import Consent, State
from customers.contact.deciding import Reach, TopicRule
from customers.contact.periods import parse_period
from customers.contact.policy import ContactPolicy, read_policy
from customers.contact.reach import digest_of, spelled
from customers.contact.rings import rings_of
from customers.contact.suppressed import Address, reach_by_digest
from customers.models import Consent as StoredConsent
from customers.models import ContactRules, Topic
from engage.database.known_values import known_value
from engage.errors import Refusal
from engage.json.compact import ascii_json
from engage.json.documents import Part
from journeys.steps.contact import Contact

Whose = tuple[str, str]  # the ids of a workspace and a customer


class InvalidPolicy(Refusal):
    """A contact policy that this version cannot read: whoever asks it waits."""

    error = "Invalid contact policy"


@dataclass(kw_only=True)
class Contacts:
    """Of these customers; `contact` of those of whom it is asked. `at_once`: each address is looked up as it comes."""

    customers: Collection[Whose]
    at_once: bool = False
    rules: Mapping[str, ContactRules] = field(init=False)
    _topics: dict[str, dict[str, TopicRule]] = field(init=False, default_factory=dict)
    _consents: dict[str, dict[tuple[str, str], Consent]] = field(init=False, default_factory=dict)
    _rings: Mapping[str, Mapping[str, Any]] = field(init=False, default_factory=dict)
    _reach: dict[Address, frozenset[Reach]] = field(init=False, default_factory=dict)
    _unknown: dict[Address, set[str]] = field(init=False, default_factory=dict)  # with those whose walks wrote to it

    def __post_init__(self) -> None:
        workspaces = {workspace_id for workspace_id, _ in self.customers}
        found = ContactRules.objects.filter(workspace__in=workspaces) if workspaces else ()
        self.rules = {one.workspace_id: one for one in found}
        if self.rules:
            self._load([customer_id for workspace_id, customer_id in self.customers if workspace_id in self.rules])

    def _load(self, customer_ids: Collection[str]) -> None:
        for topic in Topic.objects.filter(workspace__in=self.rules):
            self._topics.setdefault(topic.workspace_id, {})[topic.key] = rule_of(topic)
        if self._topics:
            for one in StoredConsent.objects.filter(customer__in=customer_ids):
                held = Consent(
                    state=known_value(State, one.state) or State.UNSUBSCRIBED, since=one.since, until=one.until
                )
                self._consents.setdefault(one.customer_id, {})[one.topic, one.channel] = held
        self._rings = rings_of(customer_ids)

    def contact(
        self, workspace_id: str, customer_id: str, *, topic: str | None, waiting_since: datetime | None = None
    ) -> Contact | None:
        """What one walk of the customer asks, which counts on it; None where nothing is to be asked."""
        rules = self.rules.get(workspace_id)
        if rules is None:
            return None
        return Contact(
            person_id=customer_id,
            addresses=_Addresses(self, rules, customer_id),
            policy=policy_of(rules),
            topics=self._topics.get(workspace_id, {}),
            consents=self._consents.get(customer_id, {}),
            rings=dict(self._rings.get(customer_id, {})),
            topic=topic,
            waiting_since=waiting_since,
        )

    def reach(self, address: Address, customer_id: str) -> frozenset[Reach]:
        if address not in self._reach:
            self._unknown.setdefault(address, set()).add(customer_id)
            if self.at_once:
                self.look_up()
        return self._reach.get(address, frozenset())

    def look_up(self) -> set[str]:
        """Looks up the addresses that were asked for since; those whose walks wrote to one that cannot be reached."""
        asked, self._unknown = self._unknown, {}
        found = reach_by_digest(asked) if asked else {}
        self._reach |= {address: found.get(address, frozenset()) for address in asked}
        return {customer_id for address in found for customer_id in asked[address]}


@dataclass(frozen=True)
class _Addresses:
    contacts: Contacts
    rules: ContactRules
    customer_id: str

    def digest(self, channel: str, address: str) -> str:
        return digest_of(self.rules.digest_key, channel, spelled(channel, address))

    def reach(self, channel: str, address: str) -> frozenset[Reach]:
        key = self.rules.workspace_id, channel, self.digest(channel, address)
        return self.contacts.reach(key, self.customer_id)


def policy_of(rules: ContactRules) -> ContactPolicy:
    """As it is stored. Raises InvalidPolicy for one that this version cannot read."""
    return _read(ascii_json(rules.policy))


@lru_cache(maxsize=200)
def _read(written: str) -> ContactPolicy:
    return read_policy(Part(json.loads(written), "contactPolicy", InvalidPolicy), topics=None)


def rule_of(topic: Topic) -> TopicRule:
    """What of a stored topic decides."""
    valid_for = parse_period(topic.valid_for) if topic.valid_for else None
    opted_in = topic.default == Topic.Default.OPTED_IN
    return TopicRule(key=topic.key, default="opted_in" if opted_in else "opted_out", valid_for=valid_for)
