"""What is most likely a mistake of whoever made a list of customers, though each of its rows could be meant."""

import re
from collections.abc import Mapping
from typing import Any, Final

from customers.identifier_rules import SPELLINGS
from customers.identity.lookup import IDENTIFIER_NAMES
from customers.identity.roster import CustomerData

# With a plus, as spreadsheets and data frames write it: 4e10 may be an id.
_ROUNDED = re.compile(r"\s*-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{2,3}\s*")
_ADDRESSES: Final = ("email", "phone")


def rounded(named: Mapping[str, str | None]) -> str | None:
    """Says which of the identifiers (model field to value) a spreadsheet has rounded: several people became one."""
    for field, text in named.items():
        if text and _ROUNDED.fullmatch(text):
            return (
                f"{(IDENTIFIER_NAMES | SPELLINGS)[field]} is in scientific notation: a spreadsheet has rounded it, and "
                "others may have become the same. Give its column the format text there, from the original data."
            )
    return None


def unread_phone(data: CustomerData) -> str | None:
    """Says whether the phone number is none that others spell in the same way."""
    if not (phone := data.known_by.phone) or phone.startswith("+"):
        return None
    return "phone could not be read as an international number. It is stored as it was sent."


class Addresses:
    """Whose e-mail address and phone number a list has told so far.

    `told` keeps numbers: `told.setdefault(key, value)` says which value came first.
    """

    def __init__(self, told: Any = None) -> None:
        self._told = {} if told is None else told

    def contradicted(self, data: CustomerData) -> str | None:
        """Says what an earlier customer of the list, known by the same most trusted identifier, had another one of."""
        sent = data.sent()
        trusted = next(iter(sent.items()), None)
        for field in _ADDRESSES:
            if trusted and field in sent and field != trusted[0]:
                value = hash(sent[field])
                if self._told.setdefault(hash((*trusted, field)), value) != value:
                    return f"The same {IDENTIFIER_NAMES[trusted[0]]} came before with another {field}."
        return None
