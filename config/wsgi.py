"""The WSGI application, for the web server of config/serving or any other.

Others may hand a request over before its body has arrived: then a caller who stalls holds a thread, unless a proxy in
front waits for the whole body. What has to hold all the same is seen to here.
"""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries
from django.urls import get_resolver

from config.monitoring.doctor import say_what_is_amiss
from config.monitoring.presence import announce
from config.process.loaded_code import freeze_loaded_objects
from config.process.settings_at_start import load_settings
from engage.database.statement_limit import statement_limit
from engage.notations.sizes import KIB, longest_body
from engage.process import error_reports, tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
load_settings()
statement_limit.seconds = settings.WEB_STATEMENT_SECONDS or None  # whichever server it is
_django = get_wsgi_application()
# A connection is looked after when a request is over, and nothing happens to it until the next one; caches stay open.
# Nothing chooses other addresses for a request, and no statements are kept but for who develops.
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_caches)
request_finished.disconnect(reset_urlconf)
if not settings.DEBUG:
    request_started.disconnect(reset_queries)
# The API does not need them, so it is served regardless.
if settings.PRODUCTION and not (settings.STATIC_ROOT / "staticfiles.json").exists():
    structlog.get_logger(__name__).error(
        "static_files_missing", pages="the admin and the documentation", run="manage.py collectstatic"
    )

tracing.load()
error_reports.load()
_ = get_resolver().url_patterns  # loads the views, so that the first request need not wait for it
_ADMIN = "/admin/"  # as in config/urls.py
_LONGEST_COOKIES = 8 * KIB
_REFUSED = re.compile(r";\s*q\s*=\s*0(\.0{0,3})?\s*$")
freeze_loaded_objects()
say_what_is_amiss()
announce(["web"])


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django, given nothing that could hold it up before the caller is authenticated."""
    _leave_cookies_to_the_admin(environ)
    _leave_out_refused_codings(environ)
    if not _give_chunks_a_length(environ) and environ.get("CONTENT_LENGTH"):
        environ["wsgi.input"] = _BufferedBody(environ["wsgi.input"], int(environ["CONTENT_LENGTH"]))
    return _django(environ, start_response)


def _leave_cookies_to_the_admin(environ: dict[str, Any]) -> None:
    """Drops cookies that nothing uses, and overlong ones.

    Django reads them on every path, and until Python 3.11.10 and 3.12.6 that took seconds for a header full of
    backslashes (CVE-2024-7592).
    """
    cookies = environ.get("HTTP_COOKIE", "")
    if not environ.get("PATH_INFO", "").startswith(_ADMIN) or len(cookies) > _LONGEST_COOKIES:
        environ.pop("HTTP_COOKIE", None)


def _leave_out_refused_codings(environ: dict[str, Any]) -> None:
    """Or `gzip;q=0`, which refuses it, would pass for a wish with those who only look for the name."""
    accepted = environ.get("HTTP_ACCEPT_ENCODING", "").lower()
    if "q" in accepted:
        codings = [coding for coding in accepted.split(",") if not _REFUSED.search(coding)]
        environ["HTTP_ACCEPT_ENCODING"] = ",".join(codings)


class _BufferedBody:
    """A body that is as long as it says, or cannot be read: what came of one that broke off may make sense alone."""

    def __init__(self, stream: Any, length: int) -> None:
        self._stream, self._left = stream, length

    def read(self, size: int) -> bytes:
        """Raises OSError where it ends too early, which Django takes for a body that cannot be read."""
        return self._counted(self._stream.read(size), size)

    def readline(self, size: int) -> bytes:
        line: bytes = self._stream.readline(size)
        return self._counted(line, len(line) or size)

    def _counted(self, data: bytes, wanted: int) -> bytes:
        self._left -= len(data)
        if len(data) < wanted and self._left > 0:
            raise OSError("The body broke off.")
        return data


def _give_chunks_a_length(environ: dict[str, Any]) -> bool:
    """Lets Django, which reads no body without a length, read a chunked body up to the largest allowed size.

    It is read only after the caller is authenticated, so nobody without a key can hold a thread by sending slowly.
    Returns whether the body is chunked.
    """
    if not environ.get("CONTENT_LENGTH") and environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
        environ["CONTENT_LENGTH"] = str(longest_body(environ.get("PATH_INFO", "")) + 1)
        return True
    return False
