"""`/sdk/v1/<file>`: the SDK for pages of any origin."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from bridge.browser.files import served

_HOUR, _YEAR = 3600, 31_536_000  # seconds


@require_safe
def sdk_file(request: HttpRequest, name: str) -> HttpResponse:
    """A file of the SDK: an hour under its own name, for ever under the one with its hash. Raises Http404."""
    file = served().get(name)
    if file is None:
        raise Http404
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    answer = HttpResponse(file.compressed if packed else file.content, content_type=file.content_type)
    if packed:
        answer["Content-Encoding"] = "gzip"
    answer["Cache-Control"] = f"public, max-age={_YEAR}, immutable" if file.immutable else f"public, max-age={_HOUR}"
    answer["ETag"] = f'"{file.integrity.removeprefix("sha384-")[:24]}{"-gzip" if packed else ""}"'
    answer["Vary"] = "Accept-Encoding"
    answer["Access-Control-Allow-Origin"] = "*"
    answer["Cross-Origin-Resource-Policy"] = "cross-origin"
    answer["X-Content-Type-Options"] = "nosniff"
    return get_conditional_response(request, etag=answer["ETag"], response=answer) or answer
