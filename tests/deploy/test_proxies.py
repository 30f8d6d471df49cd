"""deploy/nginx.conf and deploy/Caddyfile in the real programs, before a `web` that tells what it was asked.

Only addresses, ports, the certificate and the patience are others than in the files. Where a program is missing, it is
left out.
"""

import gzip
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import config.urls  # noqa: F401 (so that all calls are known)
from config import ROOT
from engage.calls.call import WORKSPACE_ID, Call
from engage.notations.sizes import KIB, LARGEST_BODY_BYTES, longest_body
from tests.support.receiver import free_port
from tests.support.waiting import wait_until

_STAFF, _ELSEWHERE = "127.0.0.2", "127.0.0.1"
_SPOOFED = {"X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "gopher", "Host": "engage.example"}


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[str] = []
    connections: set[int] = set()

    def do_POST(self) -> None:
        if self.path in {"/gone", "/late"}:
            time.sleep(2.5 if self.path == "/late" else 0)
            self.close_connection = True
            return
        self.seen.append(self.path)
        self.connections.add(self.client_address[1])
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = json.dumps({"headers": {k.lower(): v for k, v in self.headers.items()}, "bytes": len(body)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(told)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[int]:
    Upstream.seen.clear()
    Upstream.connections.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


Connect = Callable[[str], http.client.HTTPConnection]  # from this address


@contextmanager
def nginx(folder: Path, upstream: int) -> Iterator[tuple[Connect, str]]:
    port, plain = free_port(), free_port()
    certificate = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=engage.example",
        "-keyout", f"{folder}/privkey.pem", "-out", f"{folder}/fullchain.pem",
    ]  # fmt: skip
    subprocess.run(certificate, check=True, capture_output=True)
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    text = re.sub(r"listen \[::\].*\n", "", text).replace("/etc/ssl/engage", str(folder))
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};").replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("proxy_read_timeout 330s", "proxy_read_timeout 1s")
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}").replace("127.0.0.0/8 1", f"{_STAFF}/32 1")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"{'user root; ' if os.getuid() == 0 else ''}daemon off; pid {folder}/pid;\n"
        f"error_log {folder}/log; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{text} }}"
    )
    insecure = ssl.create_default_context()
    insecure.check_hostname, insecure.verify_mode = False, ssl.CERT_NONE

    def connect(source: str) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection("127.0.0.1", port, source_address=(source, 0), context=insecure, timeout=20)

    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program
    with running([program, "-e", f"{folder}/log", "-c", f"{folder}/nginx.conf"], port, folder):
        yield connect, "https"


@contextmanager
def caddy(folder: Path, upstream: int) -> Iterator[tuple[Connect, str]]:
    port = free_port()
    text = (ROOT / "deploy" / "Caddyfile").read_text().replace("{\n", "{\n\tadmin off\n", 1)
    text = text.replace("response_header_timeout 330s", "response_header_timeout 1s")
    (folder / "Caddyfile").write_text(text)
    version = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "SITE": f"http://:{port}", "ADMIN_NETWORKS": f"{_STAFF}/32",
        "UPSTREAM": f"127.0.0.1:{upstream}", **({"BUFFER": "buffer_requests"} if numbers < (2, 6, 4) else {}),
    }  # fmt: skip

    def connect(source: str) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", port, source_address=(source, 0), timeout=20)

    command = ["caddy", "run", "--config", f"{folder}/Caddyfile", "--adapter", "caddyfile"]
    with running(command, port, folder, environment=environment):
        yield connect, "http"


@contextmanager
def running(
    command: list[str], port: int, folder: Path, *, environment: dict[str, str] | None = None
) -> Iterator[None]:
    with (
        (folder / "said").open("wb") as said,
        subprocess.Popen(command, env=environment, stdout=said, stderr=said) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or _listens(port))
            assert process.poll() is None, (folder / "said").read_text()
            yield
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as there:
        return there.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [nginx, caddy], ids=["nginx", "caddy"])
def test_a_proxy_says_who_calls_keeps_what_is_closed_and_waits_for_bodies(
    proxy: Callable[[Path, int], Any], upstream: int, tmp_path: Path
) -> None:
    if shutil.which(proxy.__name__, path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip(f"{proxy.__name__} is not installed")
    with proxy(tmp_path, upstream) as (connect, scheme):
        _says_who_calls(connect, scheme)
        _keeps_closed(connect)
        _waits_for_bodies(connect)
        _tells_its_own_refusals(connect, upstream)
        _packs_what_reflects_nothing(connect)


def _says_who_calls(connect: Connect, scheme: str) -> None:
    """What a caller says of itself is not believed, and one connection to `web` serves many calls."""
    for _ in range(5):
        status, told = answer_to(connect(_ELSEWHERE), "/api/v1/schema", _SPOOFED)
        passed = {name: told["headers"][name] for name in ("x-forwarded-for", "x-forwarded-proto", "host")}
        assert (status, passed) == (
            200,
            {"x-forwarded-for": _ELSEWHERE, "x-forwarded-proto": scheme, "host": "engage.example"},
        )
    assert len(Upstream.connections) == 1


def _keeps_closed(connect: Connect) -> None:
    for source, path, status in (
        (_STAFF, "/metrics", 404), (_STAFF, "/readyz", 404), (_STAFF, "/livez", 200),
        (_STAFF, "/admin/", 200), (_ELSEWHERE, "/admin/", 404), (_ELSEWHERE, "/admin", 404),
        (_ELSEWHERE, "//admin/", 404), (_ELSEWHERE, "/%61dmin/", 404), (_ELSEWHERE, "/api/../admin/", 404),
        (_ELSEWHERE, "/administer", 200),
    ):  # fmt: skip
        assert answer_to(connect(source), path, {"Host": "engage.example"})[0] == status, (source, path)


def _waits_for_bodies(connect: Connect) -> None:
    Upstream.seen.clear()
    connection = connect(_ELSEWHERE)
    connection.putrequest("POST", "/slow", skip_host=True)
    connection.putheader("Host", "engage.example")
    connection.putheader("Content-Length", "20000")
    connection.endheaders(b"x" * 10_000)
    assert answer_to(connect(_ELSEWHERE), "/meanwhile", {"Host": "engage.example"})[0] == 200
    assert Upstream.seen == ["/meanwhile"]
    connection.send(b"x" * 10_000)
    assert json.loads(connection.getresponse().read())["bytes"] == 20_000
    connection.close()


def _tells_its_own_refusals(connect: Connect, upstream: int) -> None:
    """A body as large as any call takes goes through; what the proxy refuses itself is told as the service tells it."""
    host = {"Host": "engage.example"}
    assert answer_to(connect(_ELSEWHERE), "/large", host, b"x" * LARGEST_BODY_BYTES)[1]["bytes"] == LARGEST_BODY_BYTES
    refused = [
        ("/large", b"x" * (LARGEST_BODY_BYTES + 1), 413, "body_too_large"),
        ("/metrics", None, 404, "not_found"),
        ("/gone", None, 502, "service_unavailable"),
        ("/late", None, 504, "service_unavailable"),
    ]
    for path, body, status, code in refused:
        answer, told = whole_answer_to(connect(_ELSEWHERE), path, host, body)
        assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json"), path
        assert (told["success"], told["code"], len(told["requestId"]) >= 32) == (False, code, True)
        assert told.keys() == {"success", "error", "message", "code", "requestId"}
        assert answer.headers["X-Request-Id"] == told["requestId"]
        assert (int(answer.headers["Retry-After"] or 0) > 0) == (status >= 500), path


def _packs_what_reflects_nothing(connect: Connect) -> None:
    asked = {"Host": "engage.example", "Accept-Encoding": "gzip", "X-More": "x" * 2000}
    packed = ["schema", "journeys/acme", "journeys/acme/hello/stats", "journeys/acme/hello/graph", "segments/acme"]
    plain = [call.path.format(**{one.name: "a" for one in [WORKSPACE_ID, *call.ids]}) for call in Call.all()]
    for path in [*packed, *plain]:
        answer, _ = whole_answer_to(connect(_ELSEWHERE), f"/api/v1/{path}", asked)
        is_packed = answer.headers.get("Content-Encoding") == "gzip"
        reflects_nothing = path in packed or re.fullmatch(r"(journeys|segments)/a|journeys/a/a/(stats|graph)", path)
        assert is_packed == bool(reflects_nothing), path


def answer_to(
    connection: http.client.HTTPConnection, path: str, headers: dict[str, str], body: bytes | None = None
) -> tuple[int, Any]:
    answer, told = whole_answer_to(connection, path, headers, body)
    return answer.status, told if answer.status == 200 else None


def whole_answer_to(
    connection: http.client.HTTPConnection, path: str, headers: dict[str, str], body: bytes | None = None
) -> tuple[http.client.HTTPResponse, Any]:
    with closing(connection):
        method = "GET" if body is None else "POST"
        with suppress(BrokenPipeError, ConnectionResetError):  # Caddy does not wait for the end of what it refuses
            connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read()
        return response, json.loads(gzip.decompress(text) if response.headers["Content-Encoding"] else text)


def test_what_the_service_takes_the_proxies_let_through() -> None:
    """By their own text, also where the programs are missing."""
    nginx_conf, caddyfile = ((ROOT / "deploy" / name).read_text() for name in ("nginx.conf", "Caddyfile"))
    mib = LARGEST_BODY_BYTES // (KIB * KIB)
    assert re.findall(r"client_max_body_size (\S+);", nginx_conf) == [f"{mib}m"]
    assert re.findall(r"(?:max_size|request_buffers) (\w+)", caddyfile) == [f"{mib}MiB"] * 2
    assert re.findall(r"int\(.*\) > (\d+)", caddyfile) == [str(LARGEST_BODY_BYTES)]
    paths = ["/admin/", "/api/v1/x", *(f"/api/v1/{call.path}" for call in Call.all())]
    assert max(longest_body(path) for path in paths) == LARGEST_BODY_BYTES == mib * KIB * KIB
    promised = re.findall(r"([\d,]+) (?:triggers|calls) a second", (ROOT / "README.md").read_text())
    (rate,) = re.findall(r"rate=(\d+)r/s", nginx_conf)
    assert int(rate) >= 2 * max(int(number.replace(",", "")) for number in promised)
