"""Units of size, and how large a body may be."""

KIB = 1024  # bytes
MAX_BODY_BYTES = 1024 * KIB
MAX_LIST_BYTES = 5 * MAX_BODY_BYTES  # what the body of a call for many records may unpack to
MAX_RECIPIENTS_BYTES = 4 * MAX_BODY_BYTES  # of a trigger call whose recipients have payloads of their own
MAX_BODY_VALUES = 100_000  # objects, arrays, their items and members; each costs memory, `{}` 64 bytes for 3
MAX_FORM_BYTES = 2560 * KIB  # of the admin
LARGEST_BODY_BYTES = max(MAX_RECIPIENTS_BYTES, MAX_FORM_BYTES)  # which a proxy in front has to let through
MAX_SDK_BODY_BYTES = 64 * KIB  # the most that browsers still send when a page is left; compressed or not

_FORMS = "/admin/"  # as in config/urls.py
_TRIGGERS = "/trigger"  # as in journeys/trigger/calls.py


def longest_body(path: str) -> int:
    """The most bytes that any body sent to this path may have."""
    if path.startswith(_FORMS):
        return MAX_FORM_BYTES
    return MAX_RECIPIENTS_BYTES if path.endswith(_TRIGGERS) else MAX_BODY_BYTES
