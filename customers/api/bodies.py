"""How bodies name customers, say when something happened, and what customers want to be written about."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar

from customers.conditions.instants import GRAMMAR_WITH_OFFSET
from customers.contact.consent import State
from customers.contact.saying import EACH_TOPIC, Saying
from customers.event_times import event_time
from customers.identifier_rules import DESCRIPTIONS, LONGEST
from customers.identity.identifiers import Identifiers, identifiers
from customers.identity.lookup import IDENTIFIER_NAMES, NOBODY_NAMED, Reference
from customers.identity.roster import CustomerData
from customers.models import ConsentAct
from customers.models.contact import LONGEST_TOPIC, Channel
from engage.calls.schema.bodies import EMAIL, NOT_BLANK, at_least_one_of, or_blank
from engage.errors import InvalidRequest, MissingParameter
from engage.json.fields import Spelled, Stored, Text
from engage.json.keywords import Keywords
from engage.json.reading import Problem
from engage.notations.sizes import KIB

MOST_CONSENTS = 100
_OLDEST = timedelta(days=365 * 50)  # that a consent may have been given, or an opt-out may hold

# Identifiers of which none is required.
ExternalId = Annotated[
    str | None,
    DESCRIPTIONS["external_id"],
    Spelled("external_id", also="externalId"),
    Text(longest=LONGEST["external_id"], blank_is_absent=True),
]
Email = Annotated[
    str | None, DESCRIPTIONS["email"], Text(longest=LONGEST["email"], blank_is_absent=True), Keywords(**EMAIL)
]
Phone = Annotated[str | None, DESCRIPTIONS["phone"], Text(longest=LONGEST["phone"], blank_is_absent=True)]
USER_ID = Text(longest=LONGEST["user_id"], blank_is_absent=True)
OF_AN_SDK = "The user id used by an app's SDK."

# A time with an offset, which `event_time` reads.
OCCURRED_AT = Keywords(format="date-time", strict={"format": None, **or_blank(pattern=GRAMMAR_WITH_OFFSET)})


@dataclass(frozen=True, kw_only=True)
class ReferenceBody:
    """A customer who must exist."""

    rules: ClassVar = at_least_one_of(*IDENTIFIER_NAMES.values(), "externalId", value=NOT_BLANK)

    external_id: ExternalId = None
    email: Email = None
    phone: Phone = None
    user_id: Annotated[str | None, OF_AN_SDK, USER_ID] = None
    customer_id: Annotated[str | None, "The customer's id in this service.", Text(blank_is_absent=True)] = None

    def known_by(self) -> Identifiers:
        """Raises InvalidRequest."""
        return identifiers(user_id=self.user_id, external_id=self.external_id, email=self.email, phone=self.phone)

    def reference(self, country: str) -> Reference:
        """Raises MissingParameter if no identifier was sent, InvalidRequest if one is malformed.

        `country` is that of phone numbers without one.
        """
        return reference_to(self.known_by().in_country(country), customer_id=self.customer_id)


def reference_to(known_by: Identifiers, *, customer_id: str | None) -> Reference:
    """The identifier that decides alone: the first in the order of IDENTIFIER_NAMES. Raises MissingParameter."""
    sent = CustomerData(customer_id=customer_id, known_by=known_by, attributes={}).sent()
    if not sent:
        raise MissingParameter(NOBODY_NAMED)
    field, value = next(iter(sent.items()))
    return Reference(field, value, other=known_by.other_phone if field == "phone" else None)


_MOMENT = Text(None, blank_is_absent=True)


@dataclass(frozen=True, kw_only=True)
class ConsentBody:
    """What a customer wants of a topic by a channel."""

    topic: Annotated[str, f"The topic's key, or `{EACH_TOPIC}` for each that has the channel.", Text(LONGEST_TOPIC)]
    channel: Annotated[Channel, "One of the topic's."]
    state: Annotated[
        ConsentAct.State, "`requested`: they asked for it, and have yet to confirm it. It never takes away a consent."
    ]
    occurred_at: Annotated[
        str | None, "When they said so; now, if it is left out. What occurred last counts.", _MOMENT, OCCURRED_AT
    ] = None
    until: Annotated[
        str | None, "When an opt-out for a time ends: they are subscribed again from then on.", _MOMENT, OCCURRED_AT
    ] = None
    text: Annotated[str | None, "What they agreed to, or its version.", Text(longest=255, blank_is_absent=True)] = None
    evidence: Annotated[
        dict[str, Any] | None, "What proves it, such as the form's address.", Stored(most_bytes=4 * KIB)
    ] = None

    def problems(self) -> Iterator[Problem]:
        if self.until is not None and self.state is not ConsentAct.State.UNSUBSCRIBED:
            yield Problem("until", "goes with the state unsubscribed.")

    def saying(self, place: str, *, now: datetime) -> Saying:
        """Raises InvalidRequest."""
        return Saying(
            topic=self.topic,
            channel=self.channel.value,
            state=State(self.state.value),
            at=_time(f"{place}.occurredAt", self.occurred_at, now=now) if self.occurred_at else now,
            until=_time(f"{place}.until", self.until, now=now + _OLDEST) if self.until else None,
            text=self.text or "",
            evidence=self.evidence or {},
            place=place,
        )


def _time(place: str, text: str, *, now: datetime) -> datetime:
    """Raises InvalidRequest if it is none, or beyond `now`."""
    try:
        return event_time(text, now=now, oldest=2 * _OLDEST, oldest_in_words="a hundred years")
    except InvalidRequest as invalid:
        raise InvalidRequest(invalid.message.replace("occurredAt", place, 1)) from None


def sayings_in(consents: Sequence[ConsentBody], *, now: datetime) -> list[Saying]:
    """Raises InvalidRequest, whose message begins with the place."""
    return [one.saying(f"consents[{place}]", now=now) for place, one in enumerate(consents)]
