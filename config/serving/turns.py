"""A queue whose keys take turns: who has much in it waits for their own, and not others for them."""

from collections import deque
from queue import SimpleQueue
from threading import Lock
from typing import Generic, TypeVar

One = TypeVar("One")


class Turns(Generic[One]):
    """For any number of threads. Within a key, the names in its requests take turns likewise."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[int, deque[One]]] = {}  # both in the order of their next turns
        self._lock, self._there = Lock(), SimpleQueue[None]()

    def put(self, key: str, one: One, *, name: int = 0) -> None:
        with self._lock:
            self._by_key.setdefault(key, {}).setdefault(name, deque()).append(one)
        self._there.put(None)

    def get(self) -> One:
        """The first of whose turn it is; waits for one."""
        self._there.get()
        with self._lock:
            key = next(iter(self._by_key))
            names = self._by_key.pop(key)
            name = next(iter(names))
            own = names.pop(name)
            one = own.popleft()
            if own:
                names[name] = own
            if names:
                self._by_key[key] = names
        return one

    def __len__(self) -> int:
        return self._there.qsize()
