"""Query string parameters, none of which may be repeated."""

from django.http import QueryDict

from engage.errors import InvalidRequest


def single_value(query: QueryDict, name: str) -> str | None:
    """The parameter's value, or None. Raises InvalidRequest if it is repeated."""
    values = query.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(f"{name} stands more than once in the query string.")
    return values[0] if values else None
