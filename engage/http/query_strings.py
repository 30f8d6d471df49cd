"""Query string parameters, none of which may be repeated."""

from django.http import QueryDict

from engage.errors import InvalidRequest

_TRUE, _FALSE = ("true", "1"), ("false", "0")  # the numbers are what clients in PHP send


def single_value(query: QueryDict, name: str) -> str | None:
    """The parameter's value, or None. Raises InvalidRequest if it is repeated."""
    values = query.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(f"{name} stands more than once in the query string.")
    return values[0] if values else None


def whole_number(text: str, *, at_most: int = 2**31 - 1) -> int | None:
    """The number that is written in ASCII digits, from 0 to `at_most`; None if it is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(at_most))):
        return None
    return number if (number := int(text)) <= at_most else None


def is_true(query: QueryDict, name: str) -> bool:
    """Whether the parameter is `true` or `1`; not if it is missing. Raises InvalidRequest."""
    text = single_value(query, name)
    if text not in {None, *_TRUE, *_FALSE}:
        raise InvalidRequest(f"{name} must be true or false, not {str(text)[:100]!r}.")
    return text in _TRUE
