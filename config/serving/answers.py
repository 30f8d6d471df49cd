"""Answers as bytes: what WSGI says of an answer, framed for HTTP/1.1."""

import time
from email.utils import formatdate
from functools import lru_cache
from types import TracebackType

from config.serving.requests import Head

Headers = list[tuple[str, str]]
_BODILESS = ("1", "204", "304")
_LENGTH = "content-length"


class Answer:
    """One answer, begun by the application through `start`; all that is sent of it is made here."""

    __slots__ = ("_chunked", "_head", "headers", "keeps_alive", "left", "status")

    def __init__(self, head: Head, *, keeps_alive: bool) -> None:
        """`keeps_alive`: whether the connection may be used again after it."""
        self._head, self.keeps_alive = head, keeps_alive
        self.status = ""
        self.headers: Headers = []
        self._chunked = False
        self.left: int | None = None  # bytes that a long answer still owes

    def start(
        self,
        status: str,
        headers: Headers,
        exc_info: tuple[type[BaseException], BaseException, TracebackType] | None = None,
    ) -> None:
        """WSGI's start_response, without the `write` that it should return and nobody uses."""
        self.status, self.headers = status, headers

    @property
    def has_body(self) -> bool:
        return self._head.method != "HEAD" and not self.status.startswith(_BODILESS)

    def whole(self, body: bytes) -> bytes:
        """Everything: the head, and the body where the answer has one."""
        if self._head.method == "HEAD":
            return self._written_head()
        others = [field for field in self.headers if field[0].lower() != _LENGTH]
        if not self.has_body:
            self.headers = others
            return self._written_head()
        self.headers = [*others, ("Content-Length", str(len(body)))]
        return self._written_head() + body

    def begin_long(self) -> bytes:
        """The head of an answer that is sent in pieces: with its length, in chunks, or until the connection ends."""
        said = [int(value) for name, value in self.headers if name.lower() == _LENGTH]
        if said:
            self.left = said[0]
        elif self._head.protocol == "HTTP/1.0":
            self.keeps_alive = False
        else:
            self._chunked = True
            self.headers = [*self.headers, ("Transfer-Encoding", "chunked")]
        return self._written_head()

    def piece(self, data: bytes) -> bytes:
        """A piece of a long answer. Raises ValueError where it becomes longer than it said."""
        if self.left is not None:
            self.left -= len(data)
            if self.left < 0:
                raise ValueError("The answer is longer than its Content-Length.")
        return b"%x\r\n%b\r\n" % (len(data), data) if self._chunked and data else data

    def end_long(self) -> bytes:
        """What ends a long answer. Raises ValueError where it is shorter than it said."""
        if self.left:
            raise ValueError("The answer is shorter than its Content-Length.")
        return b"0\r\n\r\n" if self._chunked else b""

    def _written_head(self) -> bytes:
        fields = "".join([f"{name}: {value}\r\n" for name, value in self.headers])
        connection = "" if self.keeps_alive else "Connection: close\r\n"
        date = _date(int(time.time()))
        return f"HTTP/1.1 {self.status}\r\nDate: {date}\r\n{connection}{fields}\r\n".encode("latin-1")


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
