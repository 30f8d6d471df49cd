"""One connection: hands over whole requests one at a time, and has their answers sent; each has a deadline."""

import asyncio
import math
import socket
import struct
import time
from enum import Enum, auto
from http import HTTPStatus
from typing import Protocol, cast

from config.serving.answers import Answer
from config.serving.calls import OVERLOADED, Caller, Request
from config.serving.incoming import Incoming
from config.serving.outgoing import Outgoing
from config.serving.refusals import Refused
from config.serving.requests import Head

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

    def serve(self, request: Request, caller: Caller) -> None:
        """Has the request answered, through `caller`. Raises Refused."""


class Connection(asyncio.Protocol):
    """Belongs to the loop's thread, and fulfils `outgoing.Way`."""

    def __init__(self, place: Place) -> None:
        self._place, self.state, self.deadline = place, State.IDLE, math.inf
        self._incoming, self._outgoing = Incoming(place.longest_body), Outgoing(self, place.loop)
        self._held = self._discarded = 0
        # Whether the caller has ended their side; was answered before the request's end.
        self._has_ended = self._is_cut = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)  # so that it tells when everything was taken
        self._peer = str((transport.get_extra_info("peername") or ("",))[0])
        here = transport.get_extra_info("sockname") or ("", "")
        self._here = (str(here[0]), str(here[1]))
        self.deadline = time.monotonic() + self._place.receive_seconds
        self._place.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.state is not State.SERVING or self._outgoing.is_long:  # else its body is still there
            self._hold(0)
        self.state, self.deadline = State.GONE, math.inf
        self._place.receives_much(self, much=False)
        self._incoming.clear()
        self._outgoing.leave()
        self._place.went(self)

    # Receiving --------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_cut:
            self._discard(len(data))
            return
        self._incoming.add(data)
        if self.state in {State.IDLE, State.RECEIVING}:
            self._advance()
        elif len(self._incoming) > READ_AHEAD:
            self._transport.pause_reading()

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > MOST_DISCARDED:
            self._transport.pause_reading()
            if self.state is State.LEAVING:
                self.break_off()

    def _advance(self) -> None:
        """Goes on with what has arrived of the next request."""
        if self.state is State.IDLE:
            self.state, self.deadline = State.RECEIVING, time.monotonic() + self._place.receive_seconds
        try:
            whole = self._incoming.take()
            if whole is not None:
                self._hand_over(*whole)
                return
            if self._incoming.is_awaited:
                self._transport.write(_CONTINUE)
            size = len(self._incoming)
            self._place.receives_much(self, much=size > READ_AHEAD)
            self._hold_or_refuse(size)
        except Refused as refused:
            self._refuse(refused)

    def _hand_over(self, head: Head, body: bytes, is_cut: bool) -> None:  # noqa: FBT001 - as they were taken
        self._is_cut = is_cut
        if is_cut:
            self._incoming.clear()
        self._place.receives_much(self, much=False)
        self._hold_or_refuse(len(body))
        self._place.waits(self, waits=False)
        self.state, self.deadline = State.SERVING, math.inf
        request = Request(head=head, body=body, is_cut=is_cut, peer=self._peer, here=self._here)
        self._place.serve(request, self._outgoing)

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

    def _refuse(self, refused: Refused) -> None:
        self._is_cut = True
        self._incoming.clear()
        self._place.receives_much(self, much=False)
        self._hold(0)
        answer = Answer(_UNREAD, keeps_alive=False)
        status, headers, body = refused.answer()
        answer.start(status, headers)
        self._outgoing.whole(answer.whole(body), False)  # noqa: FBT003 - as the loop calls it

    @property
    def is_gone(self) -> bool:
        return self.state is State.GONE

    def forget(self) -> None:
        self._hold(0)

    def write(self, data: bytes) -> None:
        self.state, self.deadline = State.SENDING, time.monotonic() + self._place.send_seconds
        self._transport.write(data)

    def wait(self) -> None:
        self.deadline = math.inf

    def pause_writing(self) -> None:
        self._outgoing.fall_behind()

    def resume_writing(self) -> None:
        if self._outgoing.catch_up() and self.state is State.SENDING:
            self.go_on()

    def go_on(self) -> None:
        self._hold(0)
        if self._is_cut and not self._has_ended:
            # Closed at once, the connection would be reset, and the answer lost to who is still sending.
            self.state, self.deadline = State.LEAVING, time.monotonic() + LINGER_SECONDS
            self._transport.write_eof()
            self._discard(0)
        elif self._place.stops or not self._outgoing.keeps_alive or (self._has_ended and not len(self._incoming)):
            self.state = State.LEAVING
            self._transport.close()
        else:
            self.state, self.deadline = State.IDLE, time.monotonic() + IDLE_SECONDS
            self._place.waits(self, waits=True)
            self._transport.resume_reading()
            if len(self._incoming):
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
            self.break_off()

    def break_off(self) -> None:
        """With a reset, so that half an answer does not look whole, and the kernel does not go on sending it."""
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    def close(self) -> None:
        """Ends a connection that has no whole request."""
        self.state, self.deadline = State.LEAVING, time.monotonic() + LINGER_SECONDS
        self._transport.close()
