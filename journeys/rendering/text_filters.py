"""Filters over texts that the library has not as Liquid does, too slow for the largest of them, or without a bound."""

import hashlib
import html
import re
from binascii import unhexlify
from typing import Any
from urllib.parse import quote_plus

from liquid.builtin.filters import string

from engage.notations.sizes import KIB
from journeys.rendering.failures import RenderingFailed
from journeys.rendering.values import MAX_ITEMS, MAX_SIZE, as_text

_AMPERSAND = re.compile("&(?!(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+|#[xX][0-9A-Fa-f]+);)")  # that begins no entity
_ENCODED = re.compile("((?:%[0-9A-Fa-f]{2})+)")
_UNSAFE_IN_SCRIPTS = (*"\\'\"><&=-;`\u2028\u2029", *map(chr, range(32)))
_IN_SCRIPTS = str.maketrans({letter: f"\\u{ord(letter):04X}" for letter in _UNSAFE_IN_SCRIPTS})


def require_fitting(length: int) -> None:
    """Raises RenderingFailed if a text of this length would be too large."""
    if length > MAX_SIZE:
        raise RenderingFailed(f"a value grows larger than {MAX_SIZE // KIB} KiB.")


def replace(text: str, old: Any, new: Any = "") -> str:
    before, after = as_text(old), as_text(new)
    require_fitting(len(text) + text.count(before) * (len(after) - len(before)))
    return text.replace(before, after)


def replace_last(text: str, old: Any, new: Any) -> str:
    before, after = as_text(old), as_text(new)
    # Searched for from the front of the reversed text: from the back, a search takes the product of both lengths.
    behind = text[::-1].find(before[::-1])
    if behind < 0:
        return text
    end = len(text) - behind
    return text[: end - len(before)] + after + text[end:]


def remove_last(text: str, old: Any) -> str:
    return replace_last(text, old, "")


def split(text: str, separator: Any = " ") -> Any:
    """The parts between the separators, without the empty ones at the end."""
    if text.count(as_text(separator)) > MAX_ITEMS:
        raise RenderingFailed(f"an array grows longer than {MAX_ITEMS} items.")
    parts = string.split(text, separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def truncate(text: str, length: Any = 50, ending: Any = "...") -> str:
    """At most so many characters, the ending among them; but never less than the ending. A text that fits is left."""
    most, end = int(length), as_text(ending)
    return text if len(text) <= most else text[: max(most - len(end), 0)] + end


def truncatewords(text: str, count: Any = 15, ending: Any = "...") -> str:
    """The first words, at least one, each a space apart, and the ending. A text of no more words is left as it is."""
    most = min(max(int(count), 1), MAX_SIZE)
    words = text.split(None, most)
    return text if len(words) <= most else " ".join(words[:most]) + as_text(ending)


def slice_(value: Any, start: Any, length: Any = None) -> Any:
    """So many characters or items (one, without a length) from `start`, counted from the end if it is negative."""
    first, many = int(start), 1 if length is None else int(length)
    first += len(value) if first < 0 else 0
    part = value[first : first + many] if first >= 0 and many > 0 else value[:0]
    return part if isinstance(part, str) else list(part)


def escape(text: str) -> str:
    return html.escape(text).replace("&#x27;", "&#39;")


def escape_once(text: str) -> str:
    """Escapes for HTML what is not escaped yet; an entity stays as it is."""
    for character, entity in (("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(character, entity)
    return _AMPERSAND.sub("&amp;", text)


def escapejs(text: str) -> str:
    return text.translate(_IN_SCRIPTS)


def sha256(value: Any) -> str | None:
    """The SHA-256 of the value's text in UTF-8, as 64 hex digits in lower case; nothing of nothing."""
    if value is None:
        return None
    text = as_text(value)
    require_fitting(len(text))
    return hashlib.sha256(text.encode()).hexdigest()


def url_encode(text: str) -> str:
    require_fitting(len(text.encode()))  # encoding it would only make it longer
    return quote_plus(text)


def url_decode(text: str) -> str:
    """Decodes as UTF-8 what is percent-encoded; what is not well-formed becomes U+FFFD."""
    parts = _ENCODED.split(text.replace("+", " "))
    parts[1::2] = [unhexlify(part.replace("%", "")).decode("utf-8", "replace") for part in parts[1::2]]
    return "".join(parts)
