"""Credentials that were found a moment ago and need not be looked up again.

A server sends the same key with every call. To look it up each time costs a fifth of what a single trigger costs, so
what was found is known for `CREDENTIALS_KEPT_SECONDS`: a key that is revoked, or an app that is switched off, is
refused after that time at the latest. What was not found is asked for again, so a new key works at once.
"""

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from django.conf import settings

_MOST_KNOWN = 1000
_Credential = TypeVar("_Credential")


class CredentialMemory(Generic[_Credential]):
    """What one process knows of one kind of credentials. Those who recall one share it: what one writes, all see."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, _Credential]] = {}

    def recall(self, name: Hashable, look_up: Callable[[], _Credential | None]) -> _Credential | None:
        """What is known by this name, or what the look-up finds."""
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
