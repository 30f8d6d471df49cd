"""Countries that have phone numbers, by the codes of ISO 3166: two capital letters."""

import phonenumbers
from django.core.exceptions import ValidationError


def validate_country(code: str) -> None:
    """For a field of a model."""
    if code not in phonenumbers.SUPPORTED_REGIONS:
        raise ValidationError("This must be the code of a country in two capital letters, such as DE.")
