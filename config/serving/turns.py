"""A queue whose keys take turns: who has much in it waits for their own, and not others for them."""

from collections import deque
from queue import SimpleQueue
from threading import Lock
from typing import Generic, TypeVar

One = TypeVar("One")


class Turns(Generic[One]):
    """For any number of threads."""

    def __init__(self) -> None:
        self._by_key: dict[str, deque[One]] = {}  # in the order of their next turns
        self._lock, self._there = Lock(), SimpleQueue[None]()

    def put(self, key: str, one: One) -> None:
        with self._lock:
            self._by_key.setdefault(key, deque()).append(one)
        self._there.put(None)

    def get(self) -> One:
        """The first of whose turn it is; waits for one."""
        self._there.get()
        with self._lock:
            key = next(iter(self._by_key))
            own = self._by_key.pop(key)
            one = own.popleft()
            if own:
                self._by_key[key] = own
        return one

    def __len__(self) -> int:
        return self._there.qsize()
