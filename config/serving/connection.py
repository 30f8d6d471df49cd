"""One connection: receives whole requests, hands them over one at a time, sends the answers; each has a deadline."""

import asyncio
import math
import socket
import struct
import time
from enum import Enum, auto
from http import HTTPStatus
from typing import Protocol, cast

from config.serving.answers import Answer
from config.serving.calls import OVERLOADED, Request
from config.serving.refusals import Refused
from config.serving.requests import Chunks, Head, parse_head
from config.serving.spool import Spool

LONGEST_HEAD = 64 * 1024  # bytes
READ_AHEAD = 64 * 1024  # bytes of later requests that are kept while one is served
MOST_DISCARDED = 16 * 1024 * 1024  # bytes that a caller may go on sending who has been answered already
LINGER_SECONDS = 10.0  # and for how long
IDLE_SECONDS = 75.0  # between two requests; more than proxies usually wait before they close the connection themselves
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_RESET = struct.pack("ii", 1, 0)  # on closing, without lingering
_UNREAD = Head(
    method="POST", path="/", query="", protocol="HTTP/1.1",
    headers={}, length=0, keeps_alive=False, expects_continue=False,
)  # fmt: skip
_TOO_SLOW = "The request did not arrive within the time for it. Nothing was done."
_BROKE_OFF = "The request broke off before its end. Nothing was done."


class State(Enum):
    IDLE = auto()  # nothing of a request has arrived
    RECEIVING = auto()
    SERVING = auto()  # the request is with a thread, or waits for one
    SENDING = auto()  # the answer is there, or some of it, but has not been taken
    LEAVING = auto()  # answered; what still arrives is thrown away
    GONE = auto()


class Place(Protocol):
    """What a connection needs of its process. But for `loop`, all of it belongs to the loop's thread."""

    loop: asyncio.AbstractEventLoop
    receive_seconds: float
    send_seconds: float
    stops: bool

    def longest_body(self, path: str) -> int:
        """In bytes."""

    def hold(self, more: int) -> bool:
        """Counts bytes that connections hold, or no longer; whether there is room for them."""

    def receives_much(self, connection: "Connection", *, much: bool) -> None:
        """Whether a large part of a request is there, and not yet all."""

    def make_way(self) -> bool:
        """Gives those up who have received much for longest; whether there is room now."""

    def came(self, connection: "Connection") -> None: ...
    def went(self, connection: "Connection") -> None: ...
    def waits(self, connection: "Connection", *, waits: bool) -> None:
        """Whether nothing is being done for the connection, because no whole request is there."""

    def serve(self, request: Request, caller: "Connection") -> None:
        """Has the request answered, through `caller`. Raises Refused."""


class Connection(asyncio.Protocol):
    """Belongs to the loop's thread, but for `send` and `stream`."""

    def __init__(self, place: Place) -> None:
        self._place, self.state, self.deadline = place, State.IDLE, math.inf
        self._buffer = bytearray()
        self._scanned = self._held = self._discarded = 0
        self._head: Head | None = None
        self._chunks: Chunks | None = None
        self._longest = 0
        # Whether the caller has not yet taken what was written; has ended its side; was answered before its end.
        self._is_behind = self._has_ended = self._is_cut = False
        self._keeps_alive = True
        self._spool: Spool | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)  # so that it tells when everything was taken
        self._peer = str((transport.get_extra_info("peername") or ("",))[0])
        here = transport.get_extra_info("sockname") or ("", "")
        self._here = (str(here[0]), str(here[1]))
        self.deadline = time.monotonic() + self._place.receive_seconds
        self._place.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.state is not State.SERVING or self._spool is not None:  # else its body is still there
            self._hold(0)
        self.state, self.deadline = State.GONE, math.inf
        self._place.receives_much(self, much=False)
        self._buffer.clear()
        if self._spool is not None:
            self._spool.leave()
        self._place.went(self)

    # Receiving --------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_cut:
            self._discard(len(data))
            return
        self._buffer += data
        if self.state in {State.IDLE, State.RECEIVING}:
            self._advance()
        elif len(self._buffer) > READ_AHEAD:
            self._transport.pause_reading()

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > MOST_DISCARDED:
            self._transport.pause_reading()
            if self.state is State.LEAVING:
                self._break_off()

    def _advance(self) -> None:
        """Goes on with what has arrived of the next request."""
        if self.state is State.IDLE:
            self.state, self.deadline = State.RECEIVING, time.monotonic() + self._place.receive_seconds
        try:
            if self._head is None:
                self._head = self._take_head()
            body = self._take_body(self._head) if self._head is not None else None
            if self._head is not None and body is not None:
                self._hand_over(self._head, body)
            else:
                size = len(self._buffer) + (len(self._chunks.body) if self._chunks else 0)
                self._place.receives_much(self, much=size > READ_AHEAD)
                self._hold_or_refuse(size)
        except Refused as refused:
            self._refuse(refused)

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
        self._longest = self._place.longest_body(head.path)
        self._chunks = Chunks() if head.length is None else None
        if head.expects_continue and head.length != 0 and not self._buffer:
            self._transport.write(_CONTINUE)
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

    def _hand_over(self, head: Head, body: bytes) -> None:
        self._is_cut = len(body) > self._longest
        self._head = self._chunks = None
        self._scanned = 0
        if self._is_cut:
            self._buffer.clear()
        self._place.receives_much(self, much=False)
        self._hold_or_refuse(len(body))
        self._place.waits(self, waits=False)
        self.state, self.deadline = State.SERVING, math.inf
        request = Request(head=head, body=body, is_cut=self._is_cut, peer=self._peer, here=self._here)
        self._place.serve(request, self)

    def _hold_or_refuse(self, size: int) -> None:
        """The small ones always find room. Strangers fill it with what they never end, so the oldest of that goes."""
        if not self._hold(size) and size > READ_AHEAD and not self._place.make_way():
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, OVERLOADED)

    def give_way(self) -> None:
        """To newer requests, while this one is not whole."""
        self._refuse(Refused(HTTPStatus.SERVICE_UNAVAILABLE, OVERLOADED))

    def _hold(self, size: int) -> bool:
        """Notes how many bytes the connection holds; whether there is room for them."""
        more, self._held = size - self._held, size
        return not more or self._place.hold(more)

    def eof_received(self) -> bool:
        """Whether the connection stays open for an answer."""
        self._has_ended = True
        if self.state is State.RECEIVING:
            self._refuse(Refused(HTTPStatus.BAD_REQUEST, _BROKE_OFF))
        return self.state in {State.SERVING, State.SENDING}

    # Answering --------------------------------------------------------------------------------------------------------

    def send(self, answer: bytes, *, keeps_alive: bool) -> None:
        """From any thread: all of an answer, and whether the connection may be used again after it."""
        self._place.loop.call_soon_threadsafe(self._answer, answer, keeps_alive)

    def stream(self, *, keeps_alive: bool) -> Spool:
        """From any thread: where to write a long answer."""
        call = self._place.loop.call_soon_threadsafe

        def tell() -> None:
            call(self._pump)

        spool = Spool(tell)
        call(self._follow, spool, keeps_alive)
        return spool

    def _refuse(self, refused: Refused) -> None:
        self._is_cut = True
        self._buffer.clear()
        self._head = self._chunks = None
        self._place.receives_much(self, much=False)
        self._hold(0)
        answer = Answer(_UNREAD, keeps_alive=False)
        status, headers, body = refused.answer()
        answer.start(status, headers)
        self._answer(answer.whole(body), False)  # noqa: FBT003 - as the loop calls it

    def _answer(self, answer: bytes, keeps_alive: bool) -> None:  # noqa: FBT001 - the loop passes no names
        if self.state is State.GONE:
            self._hold(0)
            return
        self._keeps_alive = keeps_alive
        self._write(answer)
        if not self._is_behind:
            self._go_on()

    def _follow(self, spool: Spool, keeps_alive: bool) -> None:  # noqa: FBT001
        if self.state is State.GONE:
            self._hold(0)
            spool.leave()
        else:
            self._spool, self._keeps_alive = spool, keeps_alive

    def _pump(self) -> None:
        """Sends the next piece of a long answer, if there is one and the caller has taken the one before."""
        spool = self._spool
        if spool is None or self._is_behind or self.state is State.GONE:
            return
        is_complete = spool.is_complete
        if piece := spool.read():
            self._write(piece)
            if not self._is_behind:
                self._place.loop.call_soon(self._pump)
        elif not is_complete:
            self.deadline = math.inf  # it is the thread's turn
        elif spool.has_failed:
            self._break_off()
        else:
            spool.leave()
            self._spool = None
            self._go_on()

    def _write(self, data: bytes) -> None:
        self.state, self.deadline = State.SENDING, time.monotonic() + self._place.send_seconds
        self._transport.write(data)

    def pause_writing(self) -> None:
        self._is_behind = True

    def resume_writing(self) -> None:
        self._is_behind = False
        if self.state is not State.SENDING:
            return
        if self._spool is not None:
            self._pump()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """What comes after an answer that the caller has taken."""
        self._hold(0)
        if self._is_cut and not self._has_ended:
            # Closed at once, the connection would be reset, and the answer lost to who is still sending.
            self.state, self.deadline = State.LEAVING, time.monotonic() + LINGER_SECONDS
            self._transport.write_eof()
            self._discard(0)
        elif self._place.stops or not self._keeps_alive or (self._has_ended and not self._buffer):
            self.state = State.LEAVING
            self._transport.close()
        else:
            self.state, self.deadline = State.IDLE, time.monotonic() + IDLE_SECONDS
            self._place.waits(self, waits=True)
            self._transport.resume_reading()
            if self._buffer:
                self._advance()
            if self._has_ended and self.state is State.RECEIVING:
                self._refuse(Refused(HTTPStatus.BAD_REQUEST, _BROKE_OFF))

    # Ending -----------------------------------------------------------------------------------------------------------

    def expire(self) -> None:
        """The deadline has passed."""
        if self.state is State.RECEIVING:
            self._refuse(Refused(HTTPStatus.REQUEST_TIMEOUT, _TOO_SLOW))
        elif self.state is State.IDLE:
            self.close()
        else:
            self._break_off()

    def _break_off(self) -> None:
        """With a reset, so that half an answer does not look whole, and the kernel does not go on sending it."""
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    def close(self) -> None:
        """Ends a connection that has no whole request."""
        self.state, self.deadline = State.LEAVING, time.monotonic() + LINGER_SECONDS
        self._transport.close()
