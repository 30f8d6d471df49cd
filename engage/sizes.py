"""Units of size, and how large a body may be."""

KIB = 1024  # bytes
MAX_BODY_BYTES = 1024 * KIB
MAX_INFLATED_BYTES = 5 * MAX_BODY_BYTES
MAX_SDK_BODY_BYTES = 64 * KIB  # the most that browsers still send when a page is left; compressed or not
