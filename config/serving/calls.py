"""One call of the application, in a thread: from a whole request to the bytes of its answer."""

import io
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

from config.serving.answers import Answer
from config.serving.refusals import Refused
from config.serving.requests import Head
from config.serving.spool import PIECE, ReaderGone, Spool

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
LONGEST_WAIT = 30.0  # seconds for a thread; who asked has most likely given up by then

OVERLOADED = "The service is overloaded. Nothing was done; try again."

log = logging.getLogger(__name__)
_BASE: dict[str, Any] = {
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "engage",
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": True,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.url_scheme": "http",
    "wsgi.version": (1, 0),
}


@dataclass(frozen=True, slots=True)
class Request:
    """One that has arrived whole; or, where it is longer than any body may be, by a byte more than that."""

    head: Head
    body: bytes
    is_cut: bool
    peer: str  # the caller's address
    here: tuple[str, str]  # the address and the port that were called
    arrived: float = field(default_factory=time.monotonic)

    def environ(self) -> dict[str, Any]:
        """The request as WSGI has it."""
        host, port = self.here
        environ = {
            **_BASE,
            **self.head.headers,
            "PATH_INFO": self.head.path,
            "QUERY_STRING": self.head.query,
            "REMOTE_ADDR": self.peer,
            "REQUEST_METHOD": self.head.method,
            "SERVER_NAME": host,
            "SERVER_PORT": port,
            "SERVER_PROTOCOL": self.head.protocol,
            "wsgi.input": io.BytesIO(self.body),
        }
        if self.body:
            environ["CONTENT_LENGTH"] = str(len(self.body))
        return environ


class Caller(Protocol):
    """Where an answer goes, from any thread."""

    def send(self, answer: bytes, *, keeps_alive: bool) -> None:
        """All of an answer, and whether the connection may be used again after it."""

    def stream(self, *, keeps_alive: bool) -> Spool:
        """Where to write an answer that is long."""


def serve(request: Request, application: Application, caller: Caller, *, keeps_alive: bool) -> None:
    """Calls the application and sends what it answers. Never raises."""
    answer = Answer(request.head, keeps_alive=keeps_alive and request.head.keeps_alive and not request.is_cut)
    if time.monotonic() - request.arrived > LONGEST_WAIT:
        _refuse(Refused(HTTPStatus.SERVICE_UNAVAILABLE, OVERLOADED), answer, caller)
        return
    pieces: Iterable[bytes] = ()
    begun, rest = b"", None
    try:
        pieces = application(request.environ(), answer.start)
        begun, rest = _begin(pieces) if answer.has_body else (b"", None)
        if rest is None:
            caller.send(answer.whole(begun), keeps_alive=answer.keeps_alive)
    except Exception:
        log.exception("The application failed.")
        _refuse(Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong on our side."), answer, caller)
    if rest is not None:
        _stream(answer, begun, rest, caller)
    with suppress(Exception):
        getattr(pieces, "close", _nothing)()


def _refuse(refused: Refused, answer: Answer, caller: Caller) -> None:
    status, headers, body = refused.answer()
    answer.start(status, headers)
    caller.send(answer.whole(body), keeps_alive=answer.keeps_alive)


def _begin(pieces: Iterable[bytes]) -> tuple[bytes, Iterator[bytes] | None]:
    """All of a short answer; of a long one its beginning, and the rest."""
    begun, size, rest = [], 0, iter(pieces)
    for piece in rest:
        begun.append(piece)
        size += len(piece)
        if size > PIECE:
            return b"".join(begun), rest
    return b"".join(begun), None


def _stream(answer: Answer, begun: bytes, rest: Iterator[bytes], caller: Caller) -> None:
    head = answer.begin_long()
    try:
        spool = caller.stream(keeps_alive=answer.keeps_alive)
    except OSError:
        log.exception("There is no room for a long answer.")
        _refuse(Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong on our side."), answer, caller)
        return
    failed = True
    try:
        spool.write(head + answer.piece(begun))
        for piece in rest:
            spool.write(answer.piece(piece))
        spool.write(answer.end_long())
        failed = False
    except ReaderGone:
        pass
    except Exception:
        log.exception("A long answer broke off.")
    finally:
        spool.end(failed=failed)


def _nothing() -> None:
    """In the place of `close`."""
