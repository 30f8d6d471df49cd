"""Query string parameters, none of which may be repeated."""

from collections.abc import Sequence

from django.http import QueryDict

from engage.errors import InvalidRequest

_TRUE, _FALSE = ("true", "1"), ("false", "0")  # the numbers are what clients in PHP send


def single_value(query: QueryDict, name: str) -> str | None:
    """The parameter's value, or None. Raises InvalidRequest if it is repeated."""
    values = query.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(f"{name} stands more than once in the query string.")
    return values[0] if values else None


def is_true(query: QueryDict, name: str) -> bool:
    """Whether the parameter is `true` or `1`; not if it is missing. Raises InvalidRequest."""
    text = single_value(query, name)
    if text not in {None, *_TRUE, *_FALSE}:
        raise InvalidRequest(f"{name} must be true or false, not {str(text)[:100]!r}.")
    return text in _TRUE


def one_of(query: QueryDict, name: str, choices: Sequence[str]) -> str | None:
    """The parameter's value, which is one of the choices, or None. Raises InvalidRequest."""
    text = single_value(query, name)
    if text is not None and text not in choices:
        raise InvalidRequest(f"{name} must be one of {', '.join(choices)}, not {text[:100]!r}.")
    return text
