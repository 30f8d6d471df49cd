"""What an attribute may be called, and how much a profile may hold. All writers of attributes share these rules."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engage.errors import InvalidRequest
from engage.json.compact import json_bytes
from engage.notations.sizes import KIB

MAX_NAME_LENGTH = 255
MAX_ATTRIBUTES_BYTES = 256 * KIB  # of JSON, that servers and journeys write
MAX_CLAIMED_BYTES = 16 * KIB  # that in-app messages write, in addition
MAX_PROFILE_BYTES = MAX_ATTRIBUTES_BYTES + MAX_CLAIMED_BYTES
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


def check_attributes_size(
    attributes: Mapping[str, Any], *, claimed: Collection[str] = (), most: int = MAX_ATTRIBUTES_BYTES
) -> None:
    """Raises InvalidRequest if the attributes of one profile together exceed `most` bytes as JSON.

    Those that in-app messages wrote (`claimed`) do not count: nobody's click may make a server's call fail.
    """
    size = json_bytes({name: value for name, value in attributes.items() if name not in claimed})
    if size > most:
        raise InvalidRequest(f"The profile's attributes would come to {size} bytes of JSON; the maximum is {most}.")


def check_claimed_size(attributes: Mapping[str, Any]) -> None:
    """Raises InvalidRequest if what in-app messages wrote to one profile exceeds MAX_CLAIMED_BYTES as JSON.

    The message tells no sizes: strangers read it.
    """
    if json_bytes(attributes) > MAX_CLAIMED_BYTES:
        raise InvalidRequest("In-app messages cannot write as much as this about one customer.")
