"""A real HTTP server that webhooks are sent to: polite, slow, rude, wrong, huge, endless, dripping or redirecting.

What it does stands in the path:

    /ok                  200, whatever follows
    /status/503          that status; `?retry-after=7` adds the header
    /answer              200, or `?status=400`, `?body={"sent":1}`, `?says=disable` as webhook-delivery; FILL is so much
    /first/500/then/200  the first status to the first request of a webhook-id, then the second
    /slow/0.5            200 after so many seconds
    /held                200 once `let_go` is set
    /redirect?to=URL     302
    /reset               the connection breaks off with a reset
    /silent              reads, and closes without a word
    /noise               an answer that is no HTTP
    /huge                200 with 10 MB
    /endless             200 with chunks without an end
    /drip-head           the answer's head byte by byte, for ever
    /drip-body           200, then a body byte by byte, for ever
    /cut                 200, then JSON and an end, 80 bytes before that of its Content-Length
"""

import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import SystemRandom
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_DRIP_SECONDS = 0.05
_PORTS = (20_000, 32_000)  # below those from which Linux and macOS take the ends of connections
_CHANCE = SystemRandom()  # the tests' own chance is the same in each of their processes


@dataclass(frozen=True)
class Arrived:
    """One request; the headers' names are in lower case, and one that came twice has both values."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.time)

    @property
    def webhook_id(self) -> str:
        return self.headers.get("webhook-id", "")


class Receiver:
    """A running server; `arrived` has what came, in the order in which it came."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0) -> None:
        self.arrived: list[Arrived] = []
        self.in_flight = self.most_in_flight = 0
        self.closing = False
        self.let_go = Event()
        self._lock = Lock()
        self.address = address
        self.server = _Server((address, port), self)

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def url(self, path: str = "/ok") -> str:
        return f"http://{self.host}{path}"

    def webhook_ids(self) -> list[str]:
        return [request.webhook_id for request in self.arrived]

    def note(self, request: Arrived) -> int:
        """How many times this webhook-id came before."""
        with self._lock:
            earlier = self.webhook_ids().count(request.webhook_id) if "/first/" in request.path else 0
            self.arrived.append(request)
        return earlier

    def count(self, change: int) -> None:
        with self._lock:
            self.in_flight += change
            self.most_in_flight = max(self.most_in_flight, self.in_flight)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], receiver: Receiver) -> None:
        self.receiver = receiver
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that give up are expected."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def handle_one_request(self) -> None:
        self.server.receiver.count(1)
        try:
            super().handle_one_request()
        finally:
            self.server.receiver.count(-1)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers}
        request = Arrived(method=self.command, path=self.path, headers=headers, body=body)
        earlier = self.server.receiver.note(request)
        with suppress(OSError):
            self._answer(earlier)

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def _answer(self, earlier: int) -> None:
        parts = urlsplit(self.path)
        query = {name: unquote(values[0]) for name, values in parse_qs(parts.query).items()}
        match parts.path.strip("/").split("/"):
            case ["status", status]:
                headers = {"Retry-After": query["retry-after"]} if "retry-after" in query else {}
                self._say(int(status), body=b"As you wish.", **headers)
            case ["answer"]:
                headers = {"webhook-delivery": query["says"]} if "says" in query else {}
                body = query.get("body", "").replace("FILL", query.get("with", "x") * int(query.get("fill", 0)))
                self._say(int(query.get("status", 200)), body=body.encode(), **headers)
            case ["first", status, "then", later]:
                self._say(int(later if earlier else status))
            case ["slow", seconds]:
                time.sleep(float(seconds))
                self._say(200)
            case ["held"]:
                self.server.receiver.let_go.wait()
                self._say(200)
            case ["redirect"]:
                self._say(302, Location=query["to"])
            case ["ok", *_]:
                self._say(200, body=b"Thanks.")
            case [manner]:
                self._misbehave(manner)

    def _misbehave(self, manner: str) -> None:
        match manner:
            case "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            case "silent":
                self.close_connection = True
            case "noise":
                self.wfile.write(b"SSH-2.0-nothing to see here\r\n")
            case "huge":
                self._say(200, body=b"x" * 10_000_000)
            case "endless":
                self._for_ever(
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"
                )
            case "drip-head":
                self._for_ever(b"HTTP/1.1 200 OK\r\nX-Drip: ", b"x", seconds=_DRIP_SECONDS)
            case "drip-body":
                self._for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b"x", seconds=_DRIP_SECONDS)
            case "cut":
                self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 91\r\n\r\n{"left": 3}')
                self.close_connection = True

    def _say(self, status: int, *, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _for_ever(self, begin: bytes, piece: bytes, *, seconds: float = 0.0) -> None:
        self.wfile.write(begin)
        while not self.server.receiver.closing:
            self.wfile.write(piece)
            time.sleep(seconds)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def running(address: str = "127.0.0.1", port: int = 0) -> Iterator[Receiver]:
    """A receiver that answers until the end of the block."""
    receiver = Receiver(address, port)
    Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield receiver
    finally:
        receiver.closing = True
        receiver.let_go.set()
        receiver.server.shutdown()
        receiver.server.server_close()


def free_port() -> int:
    """A port on which nobody listens, of those that no connection gets as its own end before somebody does."""
    while True:
        port = _CHANCE.randrange(*_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


if __name__ == "__main__":  # as a process of its own: prints its port, answers until its standard input ends
    with running() as alone:
        sys.stdout.write(f"{alone.port}\n")
        sys.stdout.flush()
        sys.stdin.read()
