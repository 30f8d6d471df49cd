"""The requests of one connection, whole and one after the other, from the bytes that arrive."""

from collections.abc import Callable
from http import HTTPStatus

from config.serving.refusals import Refused
from config.serving.requests import Chunks, Head, parse_head

LONGEST_HEAD = 64 * 1024  # bytes


class Incoming:
    """What has arrived and was not yet taken."""

    def __init__(self, longest_body: Callable[[str], int]) -> None:
        """`longest_body`: in bytes, for a path."""
        self._longest_body, self._longest = longest_body, 0
        self._buffer = bytearray()
        self._scanned = 0
        self._head: Head | None = None
        self._chunks: Chunks | None = None
        self.is_awaited = False  # whether the caller waits for a word before the body, since the last `take`

    def __len__(self) -> int:
        """In bytes."""
        return len(self._buffer) + (len(self._chunks.body) if self._chunks else 0)

    def add(self, data: bytes) -> None:
        self._buffer += data

    def clear(self) -> None:
        self._buffer.clear()
        self._head = self._chunks = None
        self._scanned = 0

    def take(self) -> tuple[Head, bytes, bool] | None:
        """The next request if it is there: its head, its body, and whether that is cut.

        A body is cut, and nothing after it can be read, where it is too long; then there is one byte more of it than
        is allowed. Raises Refused.
        """
        self.is_awaited = False
        if self._head is None:
            self._head = self._take_head()
        body = self._take_body(self._head) if self._head is not None else None
        if self._head is None or body is None:
            return None
        whole = (self._head, body, len(body) > self._longest)
        self._head, self._chunks, self._scanned = None, None, 0
        return whole

    def _take_head(self) -> Head | None:
        if self._buffer.startswith(b"\r\n"):  # some end a body with an empty line that is not counted
            del self._buffer[:2]
        end = self._buffer.find(b"\r\n\r\n", max(0, self._scanned - 3))
        self._scanned = len(self._buffer)
        if (self._scanned if end < 0 else end) > LONGEST_HEAD:
            raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The request's head is larger than 64 KiB.")
        if end < 0:
            return None
        head = parse_head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        self._longest = self._longest_body(head.path)
        self._chunks = Chunks() if head.length is None else None
        self.is_awaited = head.expects_continue and head.length != 0 and not self._buffer
        return head

    def _take_body(self, head: Head) -> bytes | None:
        """The body if it is there; of one that is too long, a byte more than what is allowed."""
        if self._chunks is not None:
            if not self._chunks.take(self._buffer, most=self._longest):
                return None
            return bytes(self._chunks.body[: self._longest + 1])
        wanted = min(head.length or 0, self._longest + 1)
        if len(self._buffer) < wanted:
            return None
        body = bytes(self._buffer[:wanted])
        del self._buffer[:wanted]
        return body
