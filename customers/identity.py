"""By what a customer is known: identifiers in their stored form, and the way from them to a customer."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import reduce
from operator import or_

import phonenumbers
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Case, Q, QuerySet, When

from customers.models import Customer
from engage.errors import InvalidRequest
from engage.object_ids import is_object_id


@dataclass(frozen=True, kw_only=True)
class Identifiers:
    """Identifiers in their stored form; None where absent. Make them with `identifiers()`."""

    user_id: str | None = None
    external_id: str | None = None
    email: str | None = None
    phone: str | None = None

    def present(self) -> dict[str, str]:
        """Field name to value, in the order in which the bridge matches."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}


def identifiers(
    *, user_id: str | None = None, external_id: str | None = None, email: str | None = None, phone: str | None = None
) -> Identifiers:
    """The identifiers as they are stored; blank ones are absent.

    Raises InvalidRequest for a malformed e-mail, and for an identifier too long to be stored.
    """
    return Identifiers(
        user_id=_stored("userId", user_id, longest=255),
        external_id=_stored("external_id", external_id, longest=255),
        email=_stored("email", email, longest=254, form=stored_email),
        phone=_stored("phone", phone, longest=64, form=stored_phone),
    )


def _stored(called: str, text: str | None, *, longest: int, form: Callable[[str], str] = str) -> str | None:
    if text is None or not text.strip():
        return None
    stored = form(text)
    if len(stored) > longest:
        raise InvalidRequest(f"{called} must be at most {longest} characters long, not {len(stored)}.")
    return stored


def stored_email(email: str) -> str:
    """Trimmed and lower-cased. Raises InvalidRequest where it has not the form of an address."""
    address = email.strip().lower()
    try:
        validate_email(address)
    except ValidationError:
        raise InvalidRequest("email must be an e-mail address.") from None
    return address


def stored_phone(phone: str) -> str:
    """E.164 where the number parses as an international one, else the text as it is, trimmed."""
    text = phone.strip()
    try:
        number = phonenumbers.parse(text, None)
    except phonenumbers.NumberParseException:
        return text
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The customer that identifiers led to, and whether they were created for it."""

    customer: Customer
    created: bool


def find_customer(*, workspace_id: str, known_by: Identifiers) -> Customer | None:
    """The workspace's customer known by these identifiers (at least one), in one query.

    userId, external_id, email and phone are tried in this order, and the first that matches somebody wins. A userId is
    compared with the stored user ids and then, where it looks like one, with the customer ids.
    """
    return _matching(workspace_id=workspace_id, known_by=known_by).first()


def find_or_create_customer(*, workspace_id: str, known_by: Identifiers) -> Resolution:
    """Like `find_customer`, but where nobody matches, a customer with all the identifiers is created.

    A customer who is found stays as they are: no identifier is changed or added. Must run in a transaction, which then
    holds the customer's row (FOR NO KEY UPDATE), so that nobody erases them meanwhile.

    1. The row found is locked. No other customer's row is: who holds one and waits for none is part of no deadlock.
    2. Nobody found: insert. If another call was first with any of the identifiers, PostgreSQL waits for its commit,
       and then inserts nothing.
    3. Look again. The customer found is ours or the other call's; if theirs is gone by then, it starts over.
    """
    candidates = _matching(workspace_id=workspace_id, known_by=known_by).select_for_update(no_key=True)
    if found := candidates.first():
        return Resolution(customer=found, created=False)
    while True:
        fresh = Customer(workspace_id=workspace_id, **known_by.present())
        Customer.objects.bulk_create([fresh], ignore_conflicts=True)
        if found := candidates.first():
            return Resolution(customer=found, created=found.id == fresh.id)


def _matching(*, workspace_id: str, known_by: Identifiers) -> QuerySet[Customer]:
    """The customers with any of the identifiers, the best match first."""
    matches = [Q(**{name: value}) for name, value in known_by.present().items()]
    if known_by.user_id is not None and is_object_id(known_by.user_id):
        matches.insert(1, Q(id=known_by.user_id))
    if not matches:
        raise ValueError("Nobody can be found without an identifier.")
    rank = Case(*(When(match, then=position) for position, match in enumerate(matches)))
    return Customer.objects.filter(reduce(or_, matches), workspace_id=workspace_id).order_by(rank)
