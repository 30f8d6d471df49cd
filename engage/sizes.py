"""Units of size, and how large a body may be."""

KIB = 1024  # bytes
MAX_BODY_BYTES = 1024 * KIB
MAX_LIST_BYTES = 5 * MAX_BODY_BYTES  # what the body of a call for many records may unpack to
MAX_BODY_VALUES = 100_000  # objects, arrays, their items and members; each costs memory, `{}` 64 bytes for 3
MAX_FORM_BYTES = 2560 * KIB  # of the admin
MAX_SDK_BODY_BYTES = 64 * KIB  # the most that browsers still send when a page is left; compressed or not
