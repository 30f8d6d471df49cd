"""The OpenAPI document, and the page that shows it."""

from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from rest_framework.request import Request

from bridge.browser.files import package_address, script_tag
from engage.calls.schema.forms import StrictGenerator
from engage.http.parsing import PageNegotiation
from engage.http.preconditions import unless_known
from engage.http.views import ApiView

# The page may load only what this service serves, so it works without internet access.
_OWN_FILES_ONLY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"

_FRESH_SECONDS = 300
_making = Lock()


def openapi_document(*, strict: bool = False) -> dict[str, Any]:
    """The document as plain JSON values, in one of its two forms. It is the same until the process ends."""
    with _making:  # drf-spectacular loads its extensions lazily, which is not thread-safe
        return _document(strict=strict)


@cache
def _document(*, strict: bool) -> dict[str, Any]:
    generator = StrictGenerator() if strict else SchemaGenerator()  # type: ignore[no-untyped-call]
    document: dict[str, Any] = generator.get_schema(public=True)
    return document


def _rendered(*, as_yaml: bool) -> tuple[bytes, str]:
    """The served form of the document as it is sent, and its ETag."""
    with _making:  # or all who ask at first would make it
        return _sent(as_yaml=as_yaml)


@cache
def _sent(*, as_yaml: bool) -> tuple[bytes, str]:
    renderer = OpenApiYamlRenderer() if as_yaml else OpenApiJsonRenderer()
    content = renderer.render(_document(strict=False), "", {})
    return content, f'"{sha256(content).hexdigest()[:32]}"'


class SchemaView(ApiView):
    """`GET /api/v1/schema`, as JSON, or as YAML for `Accept: application/yaml`.

    It needs no credential, so each form is made once and kept: how often strangers ask costs the others nothing.
    """

    schema = None
    renderer_classes = (OpenApiJsonRenderer2, OpenApiJsonRenderer, OpenApiYamlRenderer2, OpenApiYamlRenderer)

    def get(self, request: Request) -> HttpResponseBase:
        renderer = request.accepted_renderer
        content, etag = _rendered(as_yaml=isinstance(renderer, OpenApiYamlRenderer))
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        answer = HttpResponse(content, content_type=f"{renderer.media_type}{charset}")
        answer["ETag"], answer["Vary"] = etag, "Accept"
        answer["Cache-Control"] = f"public, max-age={_FRESH_SECONDS}"
        return unless_known(request._request, answer)


class DocumentationView(ApiView):
    """`GET /api/v1/docs`: the document, shown by Swagger UI, and the tag that loads the SDK into a page."""

    schema = None
    content_negotiation_class = PageNegotiation

    def get(self, request: Request) -> HttpResponse:
        host = request.build_absolute_uri("/").rstrip("/")
        sdk = {"sdk_tag": script_tag(host=host), "sdk_package": package_address(host=host), "host": host}
        page = render(request._request, "config/documentation.html", sdk)
        page["Content-Security-Policy"] = _OWN_FILES_ONLY
        return page
