"""What was encrypted with a key that is not there: it stays as it is stored, and whoever needs it raises an error."""

MARK = "encrypted:"


class UnknownEncryptionKey(Exception):
    """Something was encrypted with a key that is not among ENCRYPTION_KEYS: it waits until the key is there again."""

    def __init__(self) -> None:
        super().__init__("ENCRYPTION_KEYS lacks the key with which this was encrypted.")


def is_sealed(text: object) -> bool:
    """Whether this is stored encrypted."""
    return isinstance(text, str) and text.startswith(MARK)
