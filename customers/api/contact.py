"""The call that tells whether a customer may be written to."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

from django.utils import timezone

from customers.api.customers import NOT_FOUND
from customers.api.path_ids import ADA, CUSTOMER_ID
from customers.conditions.instants import parse_instant
from customers.contact.beforehand import contact_at
from customers.identity.lookup import customer_by_id
from customers.models.contact import Channel
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest
from engage.json.fields import Parsed, filled
from engage.scopes import Scope

_NO_INSTANT = InvalidRequest("at must be an instant in ISO 8601 with an offset, like 2026-11-20T19:08:00Z.")


def _moment(text: str) -> datetime:
    found = parse_instant(text) if len(text) > len("2026-11-20") else None
    if found is None:
        raise _NO_INSTANT
    return found


@dataclass(frozen=True, kw_only=True)
class ContactQuery:
    """About what, by which way, and when."""

    channel: Annotated[Channel | None, "By which way; by `email` if it is left out."] = None
    topic: Annotated[str | None, "The topic's key; without one, for a transactional message."] = None
    at: Annotated[datetime | None, "At which moment; now if it is left out.", Parsed(_moment)] = None


@dataclass(frozen=True, kw_only=True)
class ContactRuling:
    """What one rule says by itself."""

    rule: Annotated[str, "`reach`, `consent`, `window`, or a cap: `cap:week`."]
    verdict: Literal["send", "wait", "skip"]
    state: Annotated[str, "In a word, such as `unsubscribed` or `hard_bounce`."]
    words: Annotated[str, "In a sentence, with its numbers."]
    until: Annotated[datetime | None, "From when on the rule says otherwise, where it knows."]


@dataclass(frozen=True, kw_only=True)
class ContactDecision:
    """Whether they may be written to, and by which rules."""

    customer_id: ObjectId
    verdict: Annotated[Literal["send", "wait", "skip"], "That of the first rule that says no."]
    rule: Annotated[str, "Which one that is; empty where none does."]
    words: str
    until: Annotated[datetime | None, "Until when it waits."]
    rules: Sequence[ContactRuling]


_WORDS = "Unsubscribed from 'offers' since 20 Nov 2026."
_EXAMPLE = ContactDecision(
    customer_id=ADA,
    verdict="skip",
    rule="consent",
    words=_WORDS,
    until=None,
    rules=[
        ContactRuling(rule="reach", verdict="send", state="reachable", words="The address can be reached.", until=None),
        ContactRuling(rule="consent", verdict="skip", state="unsubscribed", words=_WORDS, until=None),
    ],
)


@get(
    path="customers/{workspaceId}/{customerId}/contact",
    ids=[CUSTOMER_ID],
    scope=Scope.CUSTOMERS_READ,
    policy="customers",
    tag="Customers",
    says="Decided.",
    answer="The decision, with what each rule says.",
    examples={"They have left": _EXAMPLE},
    refuses=[NOT_FOUND, _NO_INSTANT, InvalidRequest("topic is 'x', which is no topic of this workspace.")],
)
def get_contact(asked: Asked[None, ContactQuery], customer_id: str) -> ContactDecision:
    """Ask whether a customer may be written to

    The rules are asked in this order: reach, consent, windows, caps; the first that says no decides. It may be asked
    about the past as well: consent is then that of the moment, and addresses are as of today.
    """
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    query = asked.query
    channel = (query.channel or Channel.EMAIL).value
    found = contact_at(customer, channel=channel, topic=query.topic, at=query.at or timezone.now().astimezone(UTC))
    rules = [filled(ContactRuling, one) for one in found.rules]
    return filled(ContactDecision, found, customer_id=customer.id, rules=rules)
