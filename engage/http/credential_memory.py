"""A short-lived cache of credentials.

A server sends the same key with every call, and looking it up each time costs a fifth of a single trigger. So found
credentials are kept for `CREDENTIALS_KEPT_SECONDS`: a revoked key or a disabled app is refused after that time at the
latest. Credentials that were not found are looked up again, so a new key works at once.
"""

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from django.conf import settings

_MOST_KNOWN = 1000
_Credential = TypeVar("_Credential")


class CredentialMemory(Generic[_Credential]):
    """One process's cache of one kind of credentials. Callers share the cached object, and see each other's changes."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, _Credential]] = {}

    def recall(self, name: Hashable, look_up: Callable[[], _Credential | None]) -> _Credential | None:
        """The cached credential with this name, or the result of `look_up`."""
        known = self._known.get(name)
        now = time.monotonic()
        if known is not None and now < known[0]:
            return known[1]
        found = look_up()
        if found is not None and settings.CREDENTIALS_KEPT_SECONDS:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[name] = now + settings.CREDENTIALS_KEPT_SECONDS, found
        return found
