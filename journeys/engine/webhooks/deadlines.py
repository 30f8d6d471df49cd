"""A connection with one deadline, however slowly the other side sends."""

import io
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@dataclass(frozen=True)
class Deadline:
    """A moment on the monotonic clock."""

    moment: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds until then, more than 0. Raises TimeoutError once it has passed."""
        left = self.moment - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class TimedSocket:
    """The part of a socket that http.client uses. Every single operation gets only the time that is left.

    It reads at most `most` bytes, then reports the end of the answer. Closing is left to the creator of the socket.
    """

    def __init__(self, connected: socket.socket, *, deadline: Deadline, most: int) -> None:
        self._socket, self._deadline, self._most = connected, deadline, most

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._socket.settimeout(self._deadline.left())
            view = view[self._socket.send(view) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._socket, deadline=self._deadline, most=self._most))

    def close(self) -> None:
        """Does nothing, because http.client closes before the answer is read."""


class _TimedReader(io.RawIOBase):
    def __init__(self, connected: socket.socket, *, deadline: Deadline, most: int) -> None:
        self._socket, self._deadline, self._left = connected, deadline, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)[: self._left]
        if not view:
            return 0
        self._socket.settimeout(self._deadline.left())
        read = self._socket.recv_into(view)
        self._left -= read
        return read
