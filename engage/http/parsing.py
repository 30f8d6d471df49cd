"""What callers send: JSON, plain or compressed, up to a size limit, and no file; and what they accept."""

import re
from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from rest_framework import exceptions
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from engage.errors import BodyTooLarge, UnsupportedMediaType
from engage.http.inflation import inflate
from engage.json.storable import parse_object
from engage.notations.sizes import KIB, MAX_BODY_BYTES, MAX_BODY_VALUES

_GZIP = ("gzip", "x-gzip")  # RFC 9110 has both mean the same


class _JsonObjectParser(BaseParser):
    """Reads at most `view.max_body_bytes`, and `view.max_inflated_bytes` after decompression with gzip.

    Refuses anything that is not a JSON object or could not be stored.
    """

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        if "*" in (media_type or "").partition(";")[0]:  # REST framework takes it for every type
            raise exceptions.UnsupportedMediaType(str(media_type))
        context = parser_context or {}
        packed = _is_packed(context)
        limit = getattr(context.get("view"), "max_body_bytes", MAX_BODY_BYTES)
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            raise body_too_large(limit)
        if packed:
            raw = inflate(raw, limit=getattr(context.get("view"), "max_inflated_bytes", MAX_BODY_BYTES))
        if count := getattr(context.get("view"), "count_body", None):
            count(len(raw))
        if accept := getattr(context.get("view"), "accept_body", None):
            accept(raw)
        return parse_object(raw, most_values=MAX_BODY_VALUES)


class StrictJsonParser(_JsonObjectParser):
    """JSON as it is usually called."""

    media_type = "application/json"


class MergePatchParser(_JsonObjectParser):
    """The same, as RFC 7396 calls it where it is a merge patch."""

    media_type = "application/merge-patch+json"


class PlainTextJsonParser(_JsonObjectParser):
    """The same, called text/plain: browsers send that without asking first (a preflight)."""

    media_type = "text/plain"


def body_too_large(limit: int) -> BodyTooLarge:
    """The refusal for a body of more than `limit` bytes."""
    return BodyTooLarge(f"The body is larger than {limit // KIB} KiB.")


def _is_packed(context: Mapping[str, Any]) -> bool:
    """Whether the body is gzip. Raises UnsupportedMediaType for other encodings and for charsets other than UTF-8."""
    request = context.get("request")
    if request is None:
        return False
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", request.content_type or "", re.IGNORECASE)
    if charset and charset.group(1).lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType("The body must be UTF-8.")
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower()
    if encoding not in {"", "identity", *_GZIP}:
        says = f"The body must be plain or gzip; its Content-Encoding is {encoding[:40]!r}."
        raise UnsupportedMediaType(says, headers={"Accept-Encoding": "gzip"})
    return encoding in _GZIP


class NoUploads(FileUploadHandler):
    """Stops reading a form at its first file, which Django would otherwise save to disk for any sender at any size."""

    def new_file(self, *args: object, **kwargs: object) -> None:
        raise StopUpload(connection_reset=True)


_ANYTHING = "*/*"
_PAGES = ("text/html", "application/xhtml+xml")
_UNWANTED = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)")  # a weight of nothing


class LenientNegotiation(DefaultContentNegotiation):
    """Takes an empty `Accept` as none, and a lone `*`, which Java's own client sends, as `*/*`."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """At once where there is no choice, as for nearly every call."""
        first, *others = renderers
        if not others and request.META.get("HTTP_ACCEPT", _ANYTHING) in {_ANYTHING, first.media_type}:
            return first, str(first.media_type)
        ranges = _ranges(request)
        wanted = [one for one in (first, *others) if not _is_refused(str(one.media_type), ranges)]
        chosen: tuple[BaseRenderer, str] = super().select_renderer(request, wanted, format_suffix)
        return chosen

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """At once for a type that is spelled as usual."""
        parsers = list(parsers)
        plain = (parser for parser in parsers if parser.media_type == request.content_type)
        return next(plain, None) or super().select_parser(request, parsers)

    def get_accept_list(self, request: Request) -> list[str]:
        if not request.headers.get("Accept", _ANYTHING).strip(" \t,"):
            return [_ANYTHING]
        accepted = super().get_accept_list(request)
        wanted = [one for one in accepted if not _UNWANTED.search(one)]
        return [_ANYTHING if one.partition(";")[0].strip() == "*" else one for one in wanted]


class PageNegotiation(LenientNegotiation):
    """For an address that has a page for who asks for one, and JSON for all others."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        if asks_for_page(request):
            return (first := next(iter(renderers))), str(first.media_type)
        return super().select_renderer(request, renderers, format_suffix)


def asks_for_page(request: Request) -> bool:
    """Whether the caller, as browsers do, names HTML among what it accepts."""
    return any(one in _PAGES and not _UNWANTED.search(whole) for one, whole in _ranges(request).items())


def _ranges(request: Request) -> dict[str, str]:
    """What `Accept` lists, by the type without its parameters."""
    return {one.partition(";")[0].strip().lower(): one for one in request.headers.get("Accept", "").split(",")}


def _is_refused(media_type: str, ranges: Mapping[str, str]) -> bool:
    """Whether of what fits the type the closest has `q=0`."""
    closest = (media_type, f"{media_type.partition('/')[0]}/*", _ANYTHING)
    return bool(_UNWANTED.search(next((ranges[one] for one in closest if one in ranges), "")))
