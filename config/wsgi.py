"""What the web server serves."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import structlog
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver, reverse

from config.loaded_code import spare_the_loaded
from config.settings_at_start import load_settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
load_settings()
_django = get_wsgi_application()
# The interface does without them, so it is served all the same.
if settings.PRODUCTION and not (settings.STATIC_ROOT / "staticfiles.json").exists():
    structlog.get_logger(__name__).error(
        "static_files_missing", pages="the admin and the documentation", run="manage.py collectstatic"
    )

from engage.parsing import MAX_BODY_BYTES  # noqa: E402 - reads the settings
from engage.sizes import KIB  # noqa: E402 - as above

_ = get_resolver().url_patterns  # loads the views, which otherwise the first request would wait for
_ADMIN = reverse("admin:index")
_LONGEST_COOKIES = 8 * KIB
spare_the_loaded()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django, given nothing that could hold it up before it has asked who calls."""
    _leave_cookies_to_the_admin(environ)
    _give_chunks_a_length(environ)
    return _django(environ, start_response)


def _leave_cookies_to_the_admin(environ: dict[str, Any]) -> None:
    """Drops cookies that nobody is going to use, and too long ones.

    Django reads them on every path, and until Python 3.11.10 and 3.12.6 that took seconds for a header full of
    backslashes (CVE-2024-7592).
    """
    cookies = environ.get("HTTP_COOKIE", "")
    if not environ.get("PATH_INFO", "").startswith(_ADMIN) or len(cookies) > _LONGEST_COOKIES:
        environ.pop("HTTP_COOKIE", None)


def _give_chunks_a_length(environ: dict[str, Any]) -> None:
    """Django reads no body without a length: one that comes in chunks is read as far as any may go.

    By whoever reads bodies, after it is known who calls: so nobody without a key holds a thread by sending slowly.
    """
    if not environ.get("CONTENT_LENGTH") and environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
        environ["CONTENT_LENGTH"] = str(MAX_BODY_BYTES + 1)
