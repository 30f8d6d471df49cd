"""A process that serves. The main process starts it with the socket that all of them share."""

import asyncio
import logging
import os
import re
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from importlib import import_module
from threading import Thread
from typing import Any, cast

import uvloop

from config.serving.calls import OVERLOADED, Application, Caller, Request, serve
from config.serving.connection import Connection, State
from config.serving.options import Options, options
from config.serving.refusals import Refused
from config.serving.turns import Turns
from engage.http.client_address import KNOWN_CALLER, caller_at
from engage.notations.sizes import longest_body
from engage.process.bounded_cache import BoundedCache

MOST_CONNECTIONS = 10_000
_SPARE_FILES = 100  # beside connections: PostgreSQL, Redis, long answers
_MOST_HELD = 128 * 1024 * 1024  # bytes of requests that have not been answered
_MOST_KNOWN = 10_000  # callers
_MOST_WAITING = 5000  # requests that wait for a thread
_SECONDS_BETWEEN_LOOKS = 1.0
_LAST_SECONDS = 10.0  # for threads that are still busy when all connections are gone
_APP = re.compile(r"(?:^|&)app=([^&]+)")
_AT_ONCE = "/livez"
_PROBES = frozenset({"/readyz", "/metrics"})
_STAFF = "/admin/"
# Pages of staff read what there is much of, and have places apart; two, because one may be a long file.
_STAFF_THREADS = 2

log = logging.getLogger(__name__)
Waiting = Turns[tuple[Request, Caller] | None]


class Worker:
    """Fulfils `connection.Place`."""

    def __init__(self, application: Application, listener: socket.socket, *, with_options: Options) -> None:
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self.receive_seconds, self.send_seconds = with_options.receive_seconds, with_options.send_seconds
        self.stops = False
        self._application, self._listener, self._backlog = application, listener, with_options.backlog
        self._most = _raise_the_limit_of_files()
        self._connections: dict[Connection, None] = {}
        self._waiting: dict[Connection, None] = {}  # without a whole request; those that wait longest come first
        self._receiving: dict[Connection, None] = {}  # much, and not yet all; the oldest first
        self._accepting: set[asyncio.Task[object]] = set()
        self._held = 0
        self._calls, self._staff, self._probes = Waiting(), Waiting(), Waiting()
        self._proxies = with_options.proxies
        self._known = BoundedCache[int, str](
            most=_MOST_KNOWN
        )  # ids of callers, by a digest of how they name themselves
        lanes = [*[self._calls] * with_options.threads, *[self._staff] * _STAFF_THREADS, self._probes]
        self._threads = [(self._thread(lane), lane) for lane in lanes]

    def run(self, *, parent: int, ready: Callable[[], None]) -> None:
        """Serves until SIGTERM, or until the process `parent` is gone; then what is in flight is finished."""
        self._listener.setblocking(False)  # noqa: FBT003 - its only parameter
        self.loop.add_signal_handler(signal.SIGTERM, self.stop)
        self._listener.listen(self._backlog)
        self.loop.add_reader(self._listener, self._accept)
        self.loop.call_soon(self._look, parent)
        self.loop.call_soon(ready)
        try:
            self.loop.run_forever()
        finally:
            self._end_threads()

    # Connections ------------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        """One connection at a time, so that the processes share them."""
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):
            return
        except OSError:  # the machine has no file or memory left
            log.exception("No connection could be accepted.")
            self._make_room()
            self.loop.remove_reader(self._listener)
            self.loop.call_later(0.1, self._accept_again)
            return
        accepted.setblocking(False)  # noqa: FBT003 - its only parameter
        if len(self._connections) >= self._most and not self._make_room():
            accepted.close()
            return
        task = self.loop.create_task(self.loop.connect_accepted_socket(partial(Connection, self), accepted))
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)

    def _accept_again(self) -> None:
        if not self.stops:
            self.loop.add_reader(self._listener, self._accept)

    def _make_room(self) -> bool:
        """Ends the connection that has been without a whole request for longest; whether there was one."""
        longest = next(iter(self._waiting), None)
        if longest is not None:
            self.waits(longest, waits=False)
            longest.close()
        return longest is not None

    def came(self, connection: Connection) -> None:
        self._connections[connection] = None
        self._waiting[connection] = None

    def went(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._waiting.pop(connection, None)
        self._end_if_all_are_gone()

    def waits(self, connection: Connection, *, waits: bool) -> None:
        if waits:
            self._waiting[connection] = None
        else:
            self._waiting.pop(connection, None)

    def hold(self, more: int) -> bool:
        self._held += more
        return more <= 0 or self._held <= _MOST_HELD

    def receives_much(self, connection: Connection, *, much: bool) -> None:
        if much:
            self._receiving.setdefault(connection)
        else:
            self._receiving.pop(connection, None)

    def make_way(self) -> bool:
        while self._held > _MOST_HELD and self._receiving:
            next(iter(self._receiving)).give_way()
        return self._held <= _MOST_HELD

    def longest_body(self, path: str) -> int:
        return longest_body(path)

    def _look(self, parent: int) -> None:
        now = time.monotonic()
        for connection in [one for one in self._connections if one.deadline < now]:
            connection.expire()
        if os.getppid() != parent:
            self.stop()
        if self.stops:
            self._close_idle()
        self.loop.call_later(_SECONDS_BETWEEN_LOOKS, self._look, parent)

    # Calls ------------------------------------------------------------------------------------------------------------

    def serve(self, request: Request, caller: Caller) -> None:
        path = request.head.path
        if path == _AT_ONCE:
            self._serve(request, caller)
            return
        lane = self._probes if path in _PROBES else self._staff if path.startswith(_STAFF) else self._calls
        if len(lane) >= _MOST_WAITING:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, OVERLOADED)
        said = _said_by(request)
        lane.put(self._known.get(said) or self._address_of(request), (request, caller), name=said)

    def _serve(self, request: Request, caller: Caller) -> None:
        serve(request, partial(self._call, request), caller, keeps_alive=not self.stops)

    def _call(self, request: Request, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Calls the application, which may tell who the caller has proved to be."""
        pieces = self._application(environ, start)
        known, said = environ.get(KNOWN_CALLER), _said_by(request)
        if known and said and self._known.get(said) != known:
            self._known.keep(said, known, size=1)
        return pieces

    def _address_of(self, request: Request) -> str:
        """Whose turns a call takes until it has proved a key or an app: others could be made up for each request."""
        forwarded = request.head.headers.get("HTTP_X_FORWARDED_FOR", "")
        return caller_at(request.peer, forwarded, proxies=self._proxies)

    def _thread(self, waiting: Waiting) -> Thread:
        thread = Thread(target=self._serve_what_comes, args=[waiting], name="web", daemon=True)
        thread.start()
        return thread

    def _serve_what_comes(self, waiting: Waiting) -> None:
        while (found := waiting.get()) is not None:
            request, caller = found
            self._serve(request, caller)
            del found, request, caller  # or an idle thread would keep them

    # Ending -----------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends once all that has arrived is answered."""
        if self.stops:
            return
        while True:  # those who were told that they are connected
            waiting = len(self._accepting)
            self._accept()
            if len(self._accepting) == waiting:
                break
        self.stops = True
        self.loop.remove_reader(self._listener)
        self._listener.close()
        self.loop.call_later(_SECONDS_BETWEEN_LOOKS / 10, self._close_idle)

    def _close_idle(self) -> None:
        for connection in list(self._waiting):
            if connection.state is State.IDLE:
                self.waits(connection, waits=False)
                connection.close()
        self._end_if_all_are_gone()

    def _end_if_all_are_gone(self) -> None:
        if self.stops and not self._connections and not self._accepting:
            self.loop.stop()

    def _end_threads(self) -> None:
        for _, lane in self._threads:
            lane.put("", None)
        until = time.monotonic() + _LAST_SECONDS
        for thread, _ in self._threads:
            thread.join(max(0.0, until - time.monotonic()))


def _said_by(request: Request) -> int:
    """A digest of who the caller says to be, by a key or an app; 0: nobody."""
    headers = request.head.headers
    said = headers.get("HTTP_AUTHORIZATION") or headers.get("HTTP_X_APP_ID")
    if not said and (app := _APP.search(request.head.query)):
        said = app[1]
    return hash(said) if said else 0


def _raise_the_limit_of_files() -> int:
    """How many connections there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft - _SPARE_FILES)


def load(name: str) -> Application:
    """The application from where it stands, such as `config.wsgi:application`."""
    module, _, attribute = name.partition(":")
    return cast("Application", getattr(import_module(module), attribute))


def main(application: str, listener: int, ready: int, parent: int) -> None:
    """`listener` and `ready` are file descriptors: the socket, and where a byte says that this process serves."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they are meant for the main process
    chosen = options()
    worker = Worker(load(application), socket.socket(fileno=listener), with_options=chosen)

    def tell() -> None:
        with suppress(BrokenPipeError):  # who started it is gone
            os.write(ready, b"\n")
        os.close(ready)

    worker.run(parent=parent, ready=tell)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
