"""By what a customer is known: identifiers in their stored form, and the way from them to a customer."""

from dataclasses import dataclass, fields

import phonenumbers
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from engage.errors import InvalidRequest


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
    """The identifiers as they are stored; blank ones are absent. Raises InvalidRequest for a malformed e-mail."""
    return Identifiers(
        user_id=_present(user_id),
        external_id=_present(external_id),
        email=stored_email(email) if _present(email) and email else None,
        phone=stored_phone(phone) if _present(phone) and phone else None,
    )


def _present(text: str | None) -> str | None:
    return text if text is not None and text.strip() else None


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
