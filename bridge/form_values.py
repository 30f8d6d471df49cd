"""The values of a message's form, as properties and attributes. What they come to has the same limit as a body."""

from collections.abc import Mapping
from typing import Any

from customers.event_rules import MAX_EVENT_PROPERTIES_BYTES
from engage.errors import InvalidRequest
from engage.json.compact import json_bytes_of_members
from engage.json.storable import STORED_DEPTH, depth

MAX_MADE_BYTES = MAX_EVENT_PROPERTIES_BYTES  # also for mapped attributes


def mapped(fields: Mapping[str, Any] | None, *, form_data: Mapping[str, Any], named_in: str) -> dict[str, Any]:
    """Maps each name to the value of its form field; without a map, each form field keeps its own name.

    A value that is not a string, or that names no form field, is taken literally. Raises InvalidRequest, which names
    the request's field `named_in`, if the result exceeds MAX_MADE_BYTES: a short body can map one long form field to
    very many properties.
    """
    if fields is None:
        return dict(form_data)
    made = {name: form_data.get(field, field) if isinstance(field, str) else field for name, field in fields.items()}
    _check_size(made, named_in=named_in)
    return made


def with_form(properties: Mapping[str, Any], *, form_data: Mapping[str, Any], named_in: str) -> Mapping[str, Any]:
    """The properties, with the form as one more (`formData`), because its fields may have the names of properties.

    A property of that name is kept. Raises InvalidRequest if the result is nested too deeply, or, naming the request's
    field `named_in`, if it exceeds MAX_MADE_BYTES: a number such as `1e20` is stored with all its zeros.
    """
    if not form_data:
        return properties
    made = {"formData": form_data, **properties}
    if depth(made) > STORED_DEPTH:
        raise InvalidRequest(f"formData is nested more than {STORED_DEPTH - 1} deep, too deep for an event's property.")
    _check_size(made, named_in=named_in)
    return made


def _check_size(made: Mapping[str, Any], *, named_in: str) -> None:
    size = json_bytes_of_members(made)
    if size > MAX_MADE_BYTES:
        raise InvalidRequest(
            f"{named_in} comes to {size} bytes of JSON with the form's values; its maximum is {MAX_MADE_BYTES}."
        )
