"""`/livez`, `/readyz` and `/metrics`, which are called by a machine's address, not by the service's host name."""

from django.http import HttpRequest, HttpResponse
from django.urls import resolve

from engage.http.views import only_read
from engage.process.middleware import Middleware

_PATHS = frozenset({"/livez", "/readyz", "/metrics"})


class ProbesMiddleware(Middleware):
    """Answers them before the Host header, cookies or a CSRF token are checked."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info not in _PATHS:
            return self.get_response(request)
        request.resolver_match = match = resolve(request.path_info)  # logs and request times name the route
        return only_read(match.func)(request)
