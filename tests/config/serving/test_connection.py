"""A connection whose caller goes, at moments that no real caller can be made to choose."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock

from config.serving.connection import Connection
from tests.support.cases import each

POST = b"POST /long HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"


class Loop:
    """Runs what was handed to it one by one, when it is told to."""

    def __init__(self) -> None:
        self._handed: deque[Callable[[], Any]] = deque()

    def call_soon(self, call: Callable[..., Any], *about: Any) -> None:
        self._handed.append(partial(call, *about))

    call_soon_threadsafe = call_soon

    def run(self, most: int) -> None:
        for _ in range(min(most, len(self._handed))):
            self._handed.popleft()()


@each("calls", range(4))
def test_what_a_caller_held_is_free_whenever_they_go_during_a_long_answer(calls: int) -> None:
    """Before the loop knows of it, before its first piece, after that, and after the last."""
    held: list[int] = []
    loop = Loop()

    def hold(more: int) -> bool:
        held.append(more)
        return True

    place = Mock(loop=loop, receive_seconds=1.0, send_seconds=1.0, stops=False, hold=hold, longest_body=lambda _: 100)
    connection = Connection(place)
    connection.connection_made(Mock(get_extra_info=lambda _: None))
    connection.data_received(POST)
    assert sum(held) == len("hello")

    _, caller = place.serve.call_args.args
    spool = caller.stream(keeps_alive=True)
    spool.write(b"HTTP/1.1 200 OK\r\n\r\n")
    spool.end(failed=False)
    loop.run(calls)
    connection.connection_lost(None)
    loop.run(10)
    assert sum(held) == 0
