"""What the web server serves."""

import os
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

import structlog
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from config.loaded_code import spare_the_loaded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
_django = get_wsgi_application()
# The interface does without them, so it is served all the same.
if settings.PRODUCTION and not (settings.STATIC_ROOT / "staticfiles.json").exists():
    structlog.get_logger(__name__).error(
        "static_files_missing", pages="the admin and the documentation", run="manage.py collectstatic"
    )

from engage.parsing import MAX_BODY_BYTES  # noqa: E402 - reads the settings

_ = get_resolver().url_patterns  # loads the views, which otherwise the first request would wait for
spare_the_loaded()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django, which reads no body without a length: one that is sent in chunks is read here, as far as any may go."""
    if not environ.get("CONTENT_LENGTH") and environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
        body = environ["wsgi.input"].read(MAX_BODY_BYTES + 1)
        environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
    return _django(environ, start_response)
