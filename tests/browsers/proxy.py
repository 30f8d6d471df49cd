"""What stands between a browser and the service: it counts, refuses and cuts off."""

import http.client
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_PASSED_ON = {"content-type", "x-app-id", "origin", "accept-encoding", "if-none-match", "access-control-request-method"}


class Proxy(ThreadingHTTPServer):
    """`fails` is the status that every call gets; 0 ends the connection. `cuts_every` nth answer is lost."""

    daemon_threads = True

    def __init__(self, to: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.to = urlsplit(to).netloc
        self.methods: Counter[str] = Counter()
        self.fails: int | None = None
        self.retry_after = "1"
        self.cuts_every = 0
        self.answers = 0
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Passing(BaseHTTPRequestHandler):
    server: Proxy

    def _pass(self) -> None:
        proxy = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_call = "/api/" in self.path
        with proxy.guard:
            proxy.methods[self.command] += is_call
        if is_call and proxy.fails is not None:
            if proxy.fails:
                self._answer(proxy.fails, {"Retry-After": proxy.retry_after, "Access-Control-Allow-Origin": "*",
                                           "Access-Control-Expose-Headers": "Retry-After"}, b"{}")  # fmt: skip
            self.close_connection = True
            return
        upstream = http.client.HTTPConnection(proxy.to, timeout=30)
        sent = {name: value for name, value in self.headers.items() if name.lower() in _PASSED_ON}
        upstream.request(self.command, self.path, body, sent)
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        with proxy.guard:
            proxy.answers += is_call
            is_cut = is_call and proxy.cuts_every and proxy.answers % proxy.cuts_every == 0
        if not is_cut:
            self._answer(answer.status, dict(answer.getheaders()), content)
        self.close_connection = True

    do_GET = do_POST = do_OPTIONS = _pass  # noqa: N815

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"content-length", "connection", "transfer-encoding"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as it is called there)
        pass


class Pages(ThreadingHTTPServer):
    """Pages of another origin: `files` by path, each with its content type, under one Content-Security-Policy.

    `asked` lists the addresses that were asked for.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.files: dict[str, tuple[str, str]] = {}
        self.asked: list[str] = []
        self.policy = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Page(BaseHTTPRequestHandler):
    server: Pages

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content_type, text = self.server.files.get(self.path.partition("?")[0], ("text/html", "<!doctype html>"))
        content = text.encode()
        self.send_response_only(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Access-Control-Allow-Origin", "*")
        if self.server.policy:
            self.send_header("Content-Security-Policy", self.server.policy)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
