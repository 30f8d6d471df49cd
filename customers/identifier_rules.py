"""What identifiers are called, how long they may be and how they are spelled, for calls, seed files and the admin.

Conditions know them by more names (conditions/fields.py).
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

import phonenumbers

# In the API and in files; in the order in which a server's call trusts them.
SPELLINGS: Final = {"external_id": "external_id", "email": "email", "phone": "phone", "user_id": "userId"}
LONGEST: Final = {"external_id": 255, "email": 254, "phone": 64, "user_id": 255}
DESCRIPTIONS: Final = {
    "external_id": "The customer's id in your own system.",
    "email": "The customer's e-mail address. Stored in lower case, and its domain in ASCII (`xn--…`).",
    "phone": "The customer's phone number. Stored as E.164 if it is an international number without an extension, or "
    "one of the workspace's country.",
}

_LONGEST = max(LONGEST.values())
_LONGEST_LABEL = 63  # of a domain
_INVISIBLE = "CZ"  # controls, formats, spaces


def one_spelling(text: str) -> str:
    """The text in Unicode's composed form (NFC), as identifiers are stored: an é may be typed as one letter or as two.

    What is too long for an identifier is left as it is.
    """
    return text if text.isascii() or len(text) > _LONGEST else unicodedata.normalize("NFC", text)


def one_spelling_of_each(texts: Sequence[str]) -> list[str]:
    """The same of many, which hardly costs anything where all are ASCII."""
    return list(texts) if "".join(texts).isascii() else [one_spelling(text) for text in texts]


def comparable_email(text: str) -> str:
    """Trimmed, lower-cased and with its domain in ASCII, as addresses are stored; not checked to be one.

    A name before the @ with other letters than ASCII's is left as it is, as none that is stored: lower-cased, the
    Kelvin sign would be a k, and the address somebody else's.
    """
    name, at, domain = text.strip().rpartition("@")
    return f"{name.lower() if name.isascii() else name}{at}{ascii_domain(domain)}"


def ascii_domain(domain: str) -> str:
    """The domain in lower case and in ASCII, as DNS has it and as browsers send it: `münchen.example` with `xn--…`.

    Not checked to be one; what cannot be one is left as it is.
    """
    if domain.isascii():
        return domain.lower()
    # Letter by letter: at a word's end, lower() makes another s of a Σ.
    letters = "".join(map(str.lower, unicodedata.normalize("NFKC", domain)))
    labels = unicodedata.normalize("NFC", letters).replace("\u3002", ".").split(".")
    invisible = any(unicodedata.category(letter)[0] in _INVISIBLE for letter in letters)
    if invisible or max(map(len, labels)) > _LONGEST_LABEL:
        return domain
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels)


_MARKS = "Cf"  # direction marks and the like, which are copied along from address books
_PARTS = r"[\d\s().\-/\[\]\u2010-\u2015\u2212\u30fc\uff08\uff09\uff0d-\uff0f\uff3b\uff3d]"  # of a number
# The library would also find a number amid words, and drop an extension.
_INTERNATIONAL = re.compile(rf"(?i:tel:)?[\s(\uff08\[]*[+\uff0b]{_PARTS}+")
# As address books have it: amid words that hold no digit, such as that of an extension.
_AMID_WORDS = re.compile(rf"[^\d+\uff0b]*?([(\uff08\[]*[+\uff0b]?{_PARTS}*\d)[^\d+\uff0b]*")


def stored_phone(phone: str, country: str = "") -> str:
    """E.164 if the text is an international number, or one of this country ("": of none); else the text, trimmed.

    E.164 has no extensions: a number with one is kept as sent, or all people behind one switchboard would become one.
    So is a number whose E.164 would be read as another number (`+49 00 170 …`, with its trunk prefix twice): a customer
    must be found by the number that is shown. And so is one that is valid in the country as it stands, and as an
    international one that has lost its plus.
    """
    text = one_spelling(phone.strip())
    number_alone = "".join(letter for letter in text if unicodedata.category(letter) != _MARKS)
    if _INTERNATIONAL.fullmatch(number_alone):
        return _e164(number_alone) or text
    if not country or len(text) > LONGEST["phone"] or not (found := _AMID_WORDS.fullmatch(number_alone)):
        return text
    number, digits = _e164(found[1], country), phonenumbers.normalize_digits_only(found[1])
    if digits.startswith(str(phonenumbers.country_code_for_region(country))):
        number = number if _e164(f"+{digits}", country) in {None, number} else None
    return number or text


def _e164(number: str, country: str | None = None) -> str | None:
    """None if it is no number, or none that is found again; with a country, if the number is not valid, either."""
    try:
        parsed = phonenumbers.parse(number, country)
        written = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
        again = phonenumbers.format_number(phonenumbers.parse(written), phonenumbers.PhoneNumberFormat.E164)
    except phonenumbers.NumberParseException:
        return None
    return written if again == written and (country is None or phonenumbers.is_valid_number(parsed)) else None
