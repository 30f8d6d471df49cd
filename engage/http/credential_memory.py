"""A short-lived cache of credentials.

A server sends the same key with every call, and looking it up each time costs a fifth of a single trigger. So found
credentials are kept for `CREDENTIALS_KEPT_SECONDS`: a revoked key or a disabled app is refused after that time at the
latest. Credentials that were not found are looked up again, so a new key works at once.
"""

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from django.conf import settings

from engage.process.bounded_cache import BoundedCache

_Credential = TypeVar("_Credential")


class CredentialMemory(Generic[_Credential]):
    """One process's cache of one kind of credentials. Callers share the cached object, and see each other's changes.

    Without a `size_of` each of them, it keeps up to `most` of them; otherwise up to that size in all.
    """

    def __init__(self, *, most: int = 1000, size_of: Callable[[_Credential], int] = lambda _: 1) -> None:
        self._known: BoundedCache[Hashable, tuple[float, _Credential]] = BoundedCache(most=most)
        self._size_of = size_of

    def recall(self, name: Hashable, look_up: Callable[[], _Credential | None]) -> _Credential | None:
        """The cached credential with this name, or the result of `look_up`."""
        known = self._known.get(name)
        now = time.monotonic()
        if known is not None and now < known[0]:
            return known[1]
        found = look_up()
        if found is not None and settings.CREDENTIALS_KEPT_SECONDS:
            until = now + settings.CREDENTIALS_KEPT_SECONDS
            self._known.keep(name, (until, found), size=self._size_of(found))
        return found
