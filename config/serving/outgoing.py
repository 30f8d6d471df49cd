"""The answers of one connection: from a thread to the loop, and as fast to the caller as they are taken."""

from asyncio import AbstractEventLoop
from typing import Protocol

from config.serving.spool import Spool


class Way(Protocol):
    """What an answer needs of its connection. All of it belongs to the loop's thread."""

    @property
    def is_gone(self) -> bool:
        """Whether no caller is there any more."""

    def forget(self) -> None:
        """What the request held: it is answered, and the caller has gone."""

    def write(self, data: bytes) -> None:
        """Sends it, within the deadline for that."""

    def wait(self) -> None:
        """For the thread that makes the answer, without a deadline."""

    def break_off(self) -> None:
        """So that half an answer does not look whole."""

    def go_on(self) -> None:
        """After an answer that the caller has taken."""


class Outgoing:
    """Belongs to the loop's thread, but for `send` and `stream`."""

    def __init__(self, way: Way, loop: AbstractEventLoop) -> None:
        self._way, self._loop = way, loop
        self._spool: Spool | None = None
        self._is_behind = False  # whether the caller has not yet taken what was written
        self.keeps_alive = True

    @property
    def is_long(self) -> bool:
        """Whether an answer is being sent in pieces."""
        return self._spool is not None

    def send(self, answer: bytes, *, keeps_alive: bool) -> None:
        """From any thread: all of an answer, and whether the connection may be used again after it."""
        self._loop.call_soon_threadsafe(self.whole, answer, keeps_alive)

    def stream(self, *, keeps_alive: bool) -> Spool:
        """From any thread: where to write a long answer."""
        call = self._loop.call_soon_threadsafe

        def tell() -> None:
            call(self._pump)

        spool = Spool(tell)
        call(self._follow, spool, keeps_alive)
        return spool

    def whole(self, answer: bytes, keeps_alive: bool) -> None:  # noqa: FBT001 - the loop passes no names
        if self._way.is_gone:
            self._way.forget()
            return
        self.keeps_alive = keeps_alive
        self._way.write(answer)
        if not self._is_behind:
            self._way.go_on()

    def _follow(self, spool: Spool, keeps_alive: bool) -> None:  # noqa: FBT001
        if self._way.is_gone:
            self._way.forget()
            spool.leave()
        else:
            self._spool, self.keeps_alive = spool, keeps_alive

    def _pump(self) -> None:
        """Sends the next piece of a long answer, if there is one and the caller has taken the one before."""
        spool = self._spool
        if spool is None or self._is_behind or self._way.is_gone:
            return
        is_complete = spool.is_complete
        if piece := spool.read():
            self._way.write(piece)
            if not self._is_behind:
                self._loop.call_soon(self._pump)
        elif not is_complete:
            self._way.wait()
        elif spool.has_failed:
            self._way.break_off()
        else:
            spool.leave()
            self._spool = None
            self._way.go_on()

    def fall_behind(self) -> None:
        """The caller does not take what was written."""
        self._is_behind = True

    def catch_up(self) -> bool:
        """The caller has taken what was written; whether that was all of an answer."""
        self._is_behind = False
        if self._spool is None:
            return True
        self._pump()
        return False

    def leave(self) -> None:
        """The caller has gone."""
        if self._spool is not None:
            self._spool.leave()
