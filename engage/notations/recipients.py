"""Who is told of alerts by e-mail: addresses in a text, separated by commas."""

from django.core.exceptions import ValidationError
from django.core.validators import validate_email


def addresses_in(text: str) -> list[str]:
    """The addresses, without blanks around them. Raises ValidationError, which names the first that is none."""
    addresses = [one.strip() for one in text.replace("\n", ",").split(",") if one.strip()]
    for address in addresses:
        try:
            validate_email(address)
        except ValidationError:
            raise ValidationError(f"{address!r} is no e-mail address; several are separated by commas.") from None
    return addresses


def validate_addresses(text: str) -> None:
    """For a field of a model."""
    addresses_in(text)
