"""What an event may be called and hold. The same rules apply to recording events, keeping them and waiting for them."""

from engage.errors import InvalidRequest
from engage.notations.sizes import KIB

MAX_EVENT_NAME_LENGTH = 255
MAX_EVENT_PROPERTIES_BYTES = 64 * KIB  # of JSON
MAX_MESSAGE_ID_LENGTH = 255

RESERVED_PREFIX = "in_app."  # events of deliveries, which the service alone records, as those of consents
CONFIRMATION_WANTED = "consent.requested"
_RESERVED_PREFIXES = (RESERVED_PREFIX, "consent.")
RESERVED = f"begins with {' or '.join(_RESERVED_PREFIXES)}, and only the service itself records events of such a name."


def is_reserved(name: str) -> bool:
    """Whether nobody but the service may record an event of this name."""
    return name.startswith(_RESERVED_PREFIXES)


def refuse_reserved(name: str, *, field: str) -> None:
    """Raises InvalidRequest, naming the request's field, for what nobody but the service may record."""
    if is_reserved(name):
        raise InvalidRequest(f"{field} {RESERVED}")
