"""Sends one HTTP request, as strictly as is necessary when others choose the URL.

Public addresses only (and the networks that the settings allow); the address that was checked is the one connected
to; no redirects, proxies, cookies or compression; bounded wall-clock time and a bounded answer. The standard library's
client does less on its own than any other, so there is less to forbid.
"""

import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead

from engage.json.storable import storable
from engage.notations.sizes import KIB
from journeys.engine.webhooks.addresses import Endpoint, Network, Unresolved, allowed_endpoints
from journeys.engine.webhooks.deadlines import Deadline, TimedSocket
from journeys.engine.webhooks.outcomes import Outcome
from journeys.steps.webhook_headers import RESERVED_HEADERS
from journeys.steps.webhook_targets import RefusedRequest, Target, TargetRules, parse_target

_RECORDED_BYTES = 4 * KIB  # of the answer, in the history
_MOST_ENDPOINTS = 3  # tried per host
_MOST_INTERIM_ANSWERS = 20  # skipped; each costs as much as an answer


@dataclass(frozen=True, kw_only=True)
class Request:
    """`headers` are the journey's, of which reserved ones are not sent; `signed` are the signature's."""

    method: str
    url: str
    headers: Mapping[str, str]
    signed: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Seconds to connect to one address and for the whole request; bytes of the answer that are read."""

    connect: float = 2.0
    total: float = 10.0
    answer: int = 64 * KIB

    @property
    def raw(self) -> int:
        """Bytes read in all, including the head and the overhead of chunked encoding."""
        return 4 * self.answer + 256 * KIB


@dataclass(frozen=True, kw_only=True)
class _Reply:
    """What came back, as in Outcome."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = True
    error: str = ""
    refused: bool = False
    connected: bool = True


@cache
def _verified() -> ssl.SSLContext:
    return ssl.create_default_context()


@dataclass(frozen=True, kw_only=True)
class Client:
    """Safe to use from many threads at once."""

    allowed_networks: Sequence[Network] = ()
    rules: TargetRules = field(default_factory=TargetRules)
    limits: Limits = field(default_factory=Limits)
    tls: ssl.SSLContext | None = None

    def send(self, request: Request, *, at: datetime) -> Outcome:
        """Sends the request and returns its outcome, timed `at` this moment. Never raises for what the host does."""
        started = time.monotonic()
        try:
            reply = self._exchange(request)
        except RefusedRequest as refusal:
            reply = _Reply(error=str(refusal), refused=True)
        except (OSError, HTTPException, Unresolved) as failure:
            reply = _Reply(error=self._in_words(failure))
        except _NoConnection as none:
            reply = _Reply(error=self._in_words(none.failure), connected=False)
        return Outcome(
            at=at,
            milliseconds=round((time.monotonic() - started) * 1000),
            status=reply.status,
            answer=_recordable(reply.body),
            error=reply.error,
            headers=reply.headers,
            body=reply.body,
            whole=reply.whole,
            refused=reply.refused,
            connected=reply.connected,
        )

    def _exchange(self, request: Request) -> _Reply:
        target, deadline = parse_target(request.url), Deadline.after(self.limits.total)
        self.rules.check(target)
        with ExitStack() as opened:
            try:
                endpoints = allowed_endpoints(
                    host=target.host, port=target.port, allowed=self.allowed_networks, seconds=deadline.left()
                )
                plain = opened.enter_context(closing(self._connect(endpoints, deadline)))
                ready = opened.enter_context(closing(self._secure(plain, target, deadline)))
            except (OSError, Unresolved) as failure:
                raise _NoConnection(failure) from failure
            timed = TimedSocket(ready, deadline=deadline, most=self.limits.raw)
            with closing(_converse(timed, target, request)) as response:
                body, error = self._read(response)
                whole = not error and (len(body) < self.limits.answer or response.isclosed())
                headers = _by_name(response.getheaders())
                return _Reply(status=response.status, headers=headers, body=body, whole=whole, error=error)

    def _connect(self, endpoints: Sequence[Endpoint], deadline: Deadline) -> socket.socket:
        failure: Exception = _NotConnected()
        for endpoint in endpoints[:_MOST_ENDPOINTS]:
            connected = socket.socket(endpoint.family, socket.SOCK_STREAM)
            try:
                connected.settimeout(min(self.limits.connect, deadline.left()))
                connected.connect(endpoint.address)
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise the body waits for the head
            except OSError as error:
                connected.close()
                failure = _NotConnected() if isinstance(error, TimeoutError) else error
            else:
                return connected
        raise failure

    def _secure(self, plain: socket.socket, target: Target, deadline: Deadline) -> socket.socket:
        if not target.https:
            return plain
        plain.settimeout(deadline.left())
        return (self.tls or _verified()).wrap_socket(plain, server_hostname=target.host)

    def _read(self, response: HTTPResponse) -> tuple[bytes, str]:
        """The body's first bytes, and why it broke off ("" if it did not): the status counts in either case."""
        answer = bytearray()
        try:
            while len(answer) < self.limits.answer:
                if not (piece := response.read1(self.limits.answer - len(answer))):
                    if response.length:  # http.client takes an end before it for one like any other
                        raise IncompleteRead(b"")
                    break
                answer += piece
        except (OSError, HTTPException):
            return bytes(answer), "The answer broke off."
        return bytes(answer), ""

    def _in_words(self, failure: Exception) -> str:
        match failure:
            case _NotConnected():
                return f"No connection within {self.limits.connect:g} s."
            case TimeoutError():
                return f"No answer within {self.limits.total:g} s."
            case Unresolved():
                return "The host's name could not be resolved."
            case ssl.SSLCertVerificationError():
                return f"The host's certificate is not valid: {failure.verify_message}."
            case ssl.SSLError():
                return f"TLS failed: {failure.reason or 'the connection broke off'}."
            case OSError() if failure.strerror:
                return f"{failure.strerror}."
            case OSError():
                return "The connection broke off."
            case _:
                return "The answer is no HTTP."


class _NoConnection(Exception):
    """The host could not be reached at all, because of this failure."""

    def __init__(self, failure: Exception) -> None:
        super().__init__()
        self.failure = failure


class _NotConnected(OSError):
    """No connection was established in time."""


class _FinalResponse(HTTPResponse):
    """The final answer. Skips the interim ones before it (102, 103), of which http.client skips only 100."""

    def begin(self) -> None:
        super().begin()
        passed_over = 0
        while HTTPStatus.SWITCHING_PROTOCOLS < self.status < HTTPStatus.OK:
            if passed_over == _MOST_INTERIM_ANSWERS:
                raise HTTPException("It announces answers without end.")
            passed_over += 1
            self.headers = None  # type: ignore[assignment]  # otherwise begin() considers it read
            super().begin()


def _converse(timed: TimedSocket, target: Target, request: Request) -> HTTPResponse:
    connection = HTTPConnection(target.host, target.port)
    connection.response_class = _FinalResponse
    connection.auto_open = 0
    connection.sock = timed
    try:
        connection.putrequest(request.method, target.path, skip_host=True, skip_accept_encoding=True)
        for name, value in _headers(target, request).items():
            connection.putheader(name, value)
    except (ValueError, UnicodeError):
        raise RefusedRequest("The method or a header cannot be sent.") from None
    with suppress(BrokenPipeError):  # the host may answer before it has read everything
        connection.endheaders(request.body)
    return connection.getresponse()


def _headers(target: Target, request: Request) -> dict[str, str]:
    ours = {"Host": target.host_header, "Accept-Encoding": "identity", "Connection": "close", **request.signed}
    if request.body is not None or request.method in {"POST", "PUT", "PATCH"}:
        ours["Content-Length"] = str(len(request.body or b""))
    theirs = {name: value for name, value in request.headers.items() if name.lower() not in RESERVED_HEADERS}
    if not any(name.lower() == "user-agent" for name in theirs):
        ours["User-Agent"] = "Engage"
    return ours | theirs


def _by_name(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """By their names in lower case; one that came twice has both values."""
    found: dict[str, str] = {}
    for name, value in headers:
        found[name.lower()] = f"{found[name.lower()]}, {value}" if name.lower() in found else value
    return found


def _recordable(answer: bytes) -> str:
    return storable(answer[:_RECORDED_BYTES].decode("utf-8", "replace"))
