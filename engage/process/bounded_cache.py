"""What a process keeps of what tenants make: bounded by its size, because its number says nothing of that."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Values up to a total size of `most`, in whatever unit; those used longest ago are forgotten first.

    The last one is kept, however large it is. Threads share it.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def keep(self, key: Key, value: Value, *, size: int) -> None:
        with self._lock:
            _, former = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self._size += size - former
            while self._size > self._most and len(self._values) > 1:
                _, (_, freed) = self._values.popitem(last=False)
                self._size -= freed
