"""`/sdk/v1/<file>`: the SDK for pages of any origin."""

import re

from django.http import Http404, HttpRequest, HttpResponse

from bridge.browser.files import served
from engage.http.preconditions import unless_known
from engage.http.views import only_read

_HOUR, _YEAR = 3600, 31_536_000  # seconds


@only_read
def sdk_file(request: HttpRequest, name: str) -> HttpResponse:
    """A file of the SDK: an hour under its own name, for ever under the one with its hash. Raises Http404."""
    file = served().get(name)
    if file is None:
        raise Http404
    asked = _codings(request.headers.get("Accept-Encoding", ""))
    coding = next((one for one in ("br", "gzip") if one in asked and one in file.contents), "")
    answer = HttpResponse(file.contents[coding], content_type=file.content_type)
    if coding:
        answer["Content-Encoding"] = coding
    answer["Cache-Control"] = f"public, max-age={_YEAR}, immutable" if file.immutable else f"public, max-age={_HOUR}"
    answer["ETag"] = f'"{file.integrity.removeprefix("sha384-")[:24]}{coding and f"-{coding}"}"'
    answer["Vary"] = "Accept-Encoding"
    answer["Access-Control-Allow-Origin"] = "*"
    answer["Cross-Origin-Resource-Policy"] = "cross-origin"
    answer["X-Content-Type-Options"] = "nosniff"
    return unless_known(request, answer)


def _codings(header: str) -> set[str]:
    """Those that the header names, but for those with `q=0`."""
    codings = set()
    for one in header.lower().split(","):
        coding, _, weight = one.partition(";")
        if not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight):
            codings.add(coding.strip())
    return codings
