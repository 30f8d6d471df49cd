"""Units of size."""

KIB = 1024  # bytes
