"""The admin's Content Security Policy: a browser loads nothing from other origins."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from engage.admin.layers import PAGES

# Unfold's pages have inline scripts and styles, and Alpine evaluates expressions in their attributes.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class ContentSecurityMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith(PAGES):
            response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response
