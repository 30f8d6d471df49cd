"""Whether somebody may be written to, asked beforehand: the same decision as a step asks for, of one moment."""

from dataclasses import replace
from datetime import datetime

from customers.conditions import CustomerFacts, Facts
from customers.contact.consent import Act, consent_after
from customers.contact.deciding import Decision, Message, Person, Ruling, TopicRule, may_contact
from customers.contact.ledger import state_of
from customers.contact.periods import parse_period
from customers.contact.policy import read_policy
from customers.contact.reach import reach_of
from customers.contact.saying import topics_of
from customers.models import ConsentAct, ContactRing, ContactRules, Customer
from engage.errors import InvalidRequest
from engage.json.documents import Part

_NO_ADDRESS = Ruling(rule="reach", verdict="skip", state="no_address", words="They have no address for this channel.")


def contact_at(customer: Customer, *, channel: str, topic: str | None, at: datetime) -> Decision:
    """The decision for a message about the topic, or a transactional one where there is none, at that moment.

    Of the past it knows the ledger, and what is in the rings now; addresses are as of today. Raises InvalidRequest.
    """
    workspace_id = customer.workspace_id
    rule = None if topic is None else _topic(workspace_id, topic)
    stored = ContactRules.objects.filter(workspace_id=workspace_id).first()
    policy = read_policy(Part(stored.policy if stored else {}, "", InvalidRequest), topics=None)
    rings = ContactRing.objects.filter(workspace_id=workspace_id, customer=customer).values_list("cap", "times")
    person_facts = CustomerFacts(
        id=customer.id,
        external_id=customer.external_id,
        email=customer.email,
        phone=customer.phone,
        user_id=customer.user_id,
        attributes=customer.attributes,
    )
    address = {"email": customer.email, "sms": customer.phone}.get(channel)
    reach = reach_of(workspace_id=workspace_id, addresses=[(channel, address)]) if address else {}
    acts = ConsentAct.objects.filter(workspace_id=workspace_id, customer=customer, topic=topic or "", channel=channel)
    person = Person(
        id=customer.id,
        zone=policy.clock.zone_for(person_facts, Facts(customer=person_facts, now=at)),
        consent=consent_after(
            Act(state_of(one.state), one.occurred_at, one.until)
            for one in acts
            if one.occurred_at is None or one.occurred_at <= at
        ),
        reach=frozenset().union(*reach.values()),
        rings={cap: [moment for moment in times if moment <= at] for cap, times in rings},
    )
    message = Message(channel=channel, topic=rule, transactional=rule is None)
    decision = may_contact(message, person, policy=policy.rules, now=at)
    if channel in {"email", "sms"} and not address:
        rules = (_NO_ADDRESS, *decision.rules[1:])
        return replace(decision, verdict="skip", rule="reach", words=_NO_ADDRESS.words, until=None, rules=rules)
    return decision


def _topic(workspace_id: str, key: str) -> TopicRule:
    found = topics_of(workspace_id).get(key)
    if found is None:
        raise InvalidRequest(f"topic is {key[:50]!r}, which is no topic of this workspace.")
    valid_for = parse_period(found.valid_for) if found.valid_for else None
    return TopicRule(key=key, default="opted_in" if found.default == "opted_in" else "opted_out", valid_for=valid_for)
