"""The web server as it runs: real processes, and callers who speak HTTP byte by byte."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from config import ROOT
from config.local.processes import commands
from tests.support.processes import environment
from tests.support.receiver import free_port
from tests.support.waiting import wait_until

PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Web:
    """A running web server."""

    port: int
    process: "subprocess.Popen[bytes]" = field(repr=False)
    log: Path

    def children(self) -> list[int]:
        """The process ids of those who serve."""
        try:
            return [
                int(pid)
                for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            ]
        except FileNotFoundError:
            return []

    def connect(self, *, buffer: int | None = None) -> socket.socket:
        """A connection, with a small receive buffer if one is given."""
        client = socket.socket()
        client.settimeout(PATIENCE_SECONDS)
        if buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.connect(("127.0.0.1", self.port))
        return client

    def said(self, raw: bytes, *, then_end: bool = False) -> "Said":
        """The one answer to these bytes, on a connection of its own; `then_end` closes our side after them."""
        with closing(self.connect()) as client:
            client.sendall(raw)
            if then_end:
                client.shutdown(socket.SHUT_WR)
            return Said.read(client)

    def get(self, path: str, *, timeout: float = 5.0) -> int:
        """The status of a GET."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            return answer.status


@dataclass(frozen=True, kw_only=True)
class Said:
    """An answer. `ended`: whether the server ended the connection after it."""

    status: int
    headers: dict[str, str]
    body: bytes
    ended: bool

    @classmethod
    def read(cls, client: socket.socket) -> "Said":
        """Reads until the end of the connection, or until the answer is there; raises TimeoutError."""
        raw = b""
        while True:
            head, found, body = raw.partition(b"\r\n\r\n")
            if found:
                first, *lines = head.decode().split("\r\n")
                if first.split()[1] == "100":
                    raw = body
                    continue
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                length = int(headers.get("content-length", "-1"))
                if len(body) >= length >= 0 and headers.get("connection") != "close":
                    return cls(status=int(first.split()[1]), headers=headers, body=body[:length], ended=False)
            piece = client.recv(65536)
            if not piece:
                return cls(status=int(first.split()[1]), headers=headers, body=body, ended=True)
            raw += piece

    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def web_server(
    folder: Path, *, application: str = "", ready: bool = True, port: int = 0, **other: str
) -> Iterator[Web]:
    """The Procfile's web server, in a process group of its own; what is left of it at the end is killed.

    `application` is the text of a module that takes the service's place.
    """
    port = port or free_port()
    command = commands(ROOT / "Procfile")["web"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if application:
        (folder / "another.py").write_text(application)
        command += " another:application"
        other["PYTHONPATH"] = f"{folder}{os.pathsep}{ROOT}"
    log = folder / "web.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"], cwd=ROOT, stdout=output, stderr=output,
            env={**environment(), "PATH": path, "PORT": str(port), **other}, start_new_session=True,
        )  # fmt: skip
    try:
        if ready:
            wait_until(lambda: is_served(port), what="the web server")
        yield Web(port=port, process=process, log=log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def somebody_listens(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def is_served(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/livez", timeout=5):
            return True
    except OSError:
        return False
