"""What an attribute may be called, and how much a profile may hold. All writers of attributes share these rules."""

from collections.abc import Iterable, Mapping
from typing import Any

from engage.compact_json import json_bytes
from engage.errors import InvalidRequest
from engage.sizes import KIB

MAX_NAME_LENGTH = 255
MAX_ATTRIBUTES_BYTES = 256 * KIB
# Names that mean something else to a program that copies a profile into a JavaScript object.
_RESERVED_NAMES = frozenset({"__proto__", "constructor", "prototype"})
_SHOWN_LENGTH = 80


def check_attribute_names(names: Iterable[str], *, field: str | None = None) -> None:
    """Raises InvalidRequest for the first name that breaks a rule; the message names it, and the request's `field`."""
    place = f" in {field}" if field else ""
    for name in names:
        problem = _problem_of(name)
        if problem:
            raise InvalidRequest(f"The attribute name {name[:_SHOWN_LENGTH]!r}{place} {problem}.")


def _problem_of(name: str) -> str | None:
    if not name:
        return "is empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"is {len(name)} characters long; its maximum is {MAX_NAME_LENGTH}"
    if name.startswith("$"):
        return "starts with $, which is kept for the service's own names"
    if name in _RESERVED_NAMES:
        return "is reserved"
    return None


def merged(stored: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The stored attributes after the written ones: key by key, where None deletes one."""
    return {name: value for name, value in {**stored, **written}.items() if value is not None or name not in written}


def check_attributes_size(attributes: Mapping[str, Any]) -> None:
    """Raises InvalidRequest if all the attributes of one profile together exceed MAX_ATTRIBUTES_BYTES as JSON."""
    size = json_bytes(attributes)
    if size > MAX_ATTRIBUTES_BYTES:
        raise InvalidRequest(
            f"The profile's attributes would come to {size} bytes of JSON; the maximum is {MAX_ATTRIBUTES_BYTES}."
        )
