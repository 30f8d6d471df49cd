"""How bodies name customers, and say when something happened."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from customers.conditions.instants import GRAMMAR_WITH_OFFSET
from customers.identifier_rules import DESCRIPTIONS, LONGEST
from customers.identity.identifiers import Identifiers, identifiers
from customers.identity.lookup import IDENTIFIER_NAMES, NOBODY_NAMED, Reference
from customers.identity.roster import CustomerData
from engage.calls.schema.bodies import EMAIL, NOT_BLANK, at_least_one_of, or_blank
from engage.errors import MissingParameter
from engage.json.fields import Spelled, Text
from engage.json.keywords import Keywords

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
