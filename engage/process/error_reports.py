"""What fails, told to Sentry: the log's lines with an exception, and no more than they may hold (request_log.py).

An event is made here, of types, places in the code and ids, and nothing is added to it: no integration looks at
requests, and of an exception neither its message nor the values of variables are taken.
"""

import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from django.conf import settings

from engage.process.per_process import PerProcess

_REPORTED = frozenset({"error", "critical"})
_OWN_LOGGERS = "sentry_sdk"  # what fails while reporting is not reported
_TAGS = (
    "request_id", "traceparent", "workspace_id", "journey_id", "revision_id", "trigger_id", "enrollment_id",
    "webhook_id", "api_key_id", "app_id", "task", "task_id",
)  # fmt: skip
_MOST_FRAMES, _MOST_CAUSES = 50, 8
_LAST_SECONDS = 3.0  # for what is left when the process ends


def _make() -> Any:
    return import_module("sentry_sdk").Client(  # of the extra `sentry`
        dsn=settings.SENTRY_DSN,
        release=settings.COMMIT or None,
        default_integrations=False,
        auto_enabling_integrations=False,
        auto_session_tracking=False,
        send_client_reports=False,
        max_breadcrumbs=0,
    )


_client: PerProcess[Any] = PerProcess(_make, close=lambda client: client.close(timeout=_LAST_SECONDS))
send_last = _client.close


def load() -> None:
    """Imports what takes a while, and raises what is wrong with the address, at the start; no thread begins."""
    if settings.SENTRY_DSN:
        import_module("sentry_sdk.utils").Dsn(settings.SENTRY_DSN)


def report(error: BaseException, line: Mapping[str, Any]) -> None:
    """Sends the exception of a line of the log, in a thread; nothing if that is of less than an error.

    Never raises: whoever logs is about to handle a failure.
    """
    if settings.SENTRY_DSN and line.get("level") in _REPORTED and not line.get("logger", "").startswith(_OWN_LOGGERS):
        with suppress(Exception):
            _client.get().capture_event(_event(error, line))


def _event(error: BaseException, line: Mapping[str, Any]) -> dict[str, Any]:
    # The text of a line of other libraries may hold anything.
    event = line.get("logger", "") if "_record" in line else line["event"]
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and len(causes) < _MOST_CAUSES:
        causes.append(cause)
    values = [_described(cause) for cause in reversed(causes)]
    values[-1]["value"] = event
    return {
        "level": "fatal" if line["level"] == "critical" else "error",
        "logger": line.get("logger", ""),
        "transaction": event,
        "exception": {"values": values},
        "tags": {name: str(line[name]) for name in _TAGS if isinstance(line.get(name), str | int)},
    }


def _described(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    return {
        "type": type(error).__qualname__,
        "module": type(error).__module__,
        "stacktrace": {
            "frames": [
                {"filename": one.filename, "abs_path": one.filename, "function": one.name, "lineno": one.lineno}
                for one in frames
            ]
        },
    }
