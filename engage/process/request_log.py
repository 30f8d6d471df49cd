"""Structured logs, and the request id that ties their lines together.

Logs never contain personal data: no e-mail, phone, payload, form data or key. Lines carry only ids and measurements. A
query string is never logged. Of an exception only the type and the place are logged, because database messages quote
values.
"""

import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from engage.process.error_reports import report
from engage.process.middleware import Middleware
from engage.process.tracing import UNTRACED, Span, span

_ACCEPTED_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
# W3C Trace Context. Of later versions, that which this one knows is taken.
_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?P<ids>(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(?P<more>-.*)?"
)
_QUIET_PATHS = frozenset({"/livez", "/readyz"})
METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"})  # others share one label
_FRAMES = 8
log = structlog.get_logger(__name__)


def current_request_id() -> str:
    """The id of the request being served; "" outside a request."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


class Trail(NamedTuple):
    """By what a call is found again in logs and traces, however long ago it came.

    `traceparent` is the caller's, as W3C's Trace Context has it; None if they sent none.
    """

    request_id: str = ""
    traceparent: str | None = None

    def names(self) -> dict[str, str]:
        """What a line of the log has of it."""
        return {"request_id": self.request_id} | ({"traceparent": self.traceparent} if self.traceparent else {})


def current_trail() -> Trail:
    """That of the request being served; an empty one outside a request."""
    bound = structlog.contextvars.get_contextvars()
    return Trail(request_id=str(bound.get("request_id", "")), traceparent=bound.get("traceparent"))


def current_workspace_id() -> str:
    """The workspace of the key or app that calls; "" before it is known, and outside a request."""
    return str(structlog.contextvars.get_contextvars().get("workspace_id", ""))


def beginning_request_id() -> str:
    """The id of the request that started this work, however many wake-ups ago; "" if the clock did. For logs."""
    return current_request_id() or str(structlog.contextvars.get_contextvars().get("woken_by", ""))


def read_traceparent(sent: str) -> str | None:
    """The header `traceparent` in the form of version 00, which is passed on; None if it is none."""
    found = _TRACEPARENT.fullmatch(sent)
    if found is None or (found["more"] and found["version"] == "00"):
        return None
    return f"00-{found['ids']}"


class RequestLogMiddleware(Middleware):
    """Takes the request id from the caller or creates one, echoes it, and logs one line per request."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = sent if _ACCEPTED_REQUEST_ID.fullmatch(sent) else os.urandom(16).hex()
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        sent_parent = read_traceparent(request.META.get("HTTP_TRACEPARENT", ""))
        is_quiet = request.path in _QUIET_PATHS
        begun = UNTRACED if is_quiet else span("call", parent=sent_parent, kind="server", begins=True)
        with begun:
            if traceparent := begun.traceparent or sent_parent:
                structlog.contextvars.bind_contextvars(traceparent=traceparent)
            started = time.perf_counter()
            response = self.get_response(request)
            response["X-Request-Id"] = request_id
            if not is_quiet:
                route = request.resolver_match.route if request.resolver_match else None
                log.info(
                    "request",
                    method=request.method,
                    route=route,
                    status=response.status_code,
                    ms=round((time.perf_counter() - started) * 1000, 1),
                )
                if begun.traceparent:
                    _note(begun, request, route=route, status=response.status_code)
        return response


def _note(begun: Span, request: HttpRequest, *, route: str | None, status: int) -> None:
    """Names are few, whatever callers send, as those of metrics are (http/request_times.py)."""
    method = request.method if request.method in METHODS else "_OTHER"
    begun.note(
        {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
            "engage.request_id": current_request_id(),
            "engage.workspace_id": current_workspace_id() or None,
        },
        title=f"{method} {route}" if route else method,
        failed=status >= HTTPStatus.INTERNAL_SERVER_ERROR,
    )


def configure_logging() -> None:
    """Sends structlog's and the standard library's logs to standard error in one format. May be called repeatedly."""
    rendered = _as_json if settings.LOG_FORMAT == "json" else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=_PROCESSORS,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        _Formatter(
            foreign_pre_chain=[structlog.stdlib.PositionalArgumentsFormatter(), *_SHARED],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, rendered],
        )
    )
    # What no line shows is not looked up either: a quarter of what a line costs.
    logging._srcfile = None  # noqa: SLF001 - as the library's own guide says
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.LOG_LEVEL)
    logging.captureWarnings(capture=True)  # or they would be lines in no format
    # Their lines would duplicate ours, and quote query strings, exception messages and arguments.
    for indiscreet in (
        "django.request",
        "django.server",
        "django.security",
        "celery.app.trace",
        "celery.worker.request",
    ):
        logging.getLogger(indiscreet).setLevel(logging.CRITICAL)
    for chatty in ("celery.worker.strategy", "celery.beat"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


class _Formatter(structlog.stdlib.ProcessorFormatter):
    """Renders what is ours at once: the copies that structlog makes of a record took as long as all else in a line."""

    def format(self, record: logging.LogRecord) -> str:
        if not isinstance(record.msg, dict):
            return super().format(record)
        return str(self.processors[-1](None, "", dict(record.msg)))


_ENCODER = json.JSONEncoder(default=repr)


def _as_json(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    return _ENCODER.encode(event)


def _scrub_exception(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replaces the exception with its type and where it was raised, without its message; Sentry is told of it."""
    raised = event.pop("exc_info", None)
    if raised is True:
        raised = sys.exc_info()
    error = raised[1] if isinstance(raised, tuple) else raised
    if isinstance(error, BaseException):
        report(error, event)
        event["exception"] = describe_exception(error)
    return event


def describe_exception(error: BaseException) -> str:
    """The types of the exception and of its causes, each with its innermost stack frames; no messages."""
    parts = []
    cause: BaseException | None = error
    while cause is not None:
        frames = traceback.extract_tb(cause.__traceback__)[-_FRAMES:]
        way = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
        parts.append(f"{type(cause).__module__}.{type(cause).__qualname__} at {way}")
        cause = cause.__cause__
    return "; caused by ".join(parts)


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _scrub_exception,
]
# One list for all calls of configure_logging: a logger keeps the list that was configured at its first use.
_PROCESSORS = [structlog.stdlib.filter_by_level, *_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter]
