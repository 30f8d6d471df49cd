"""The middlewares of the admin: sessions, accounts, forms and frames, of which calls of the API know nothing.

Those of other modules stand beside these in ADMIN_MIDDLEWARE.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from engage.audit.acting import Actor, acting
from engage.database.statement_limit import longer_statements
from engage.http.client_address import exact_address
from engage.middleware import Middleware
from engage.models import ActorKind

_CALLS = "/api/"
PAGES = "/admin/"
# A browser loads nothing from other origins. Unfold's pages have inline scripts and styles, and Alpine evaluates
# expressions in their attributes.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class AdminLayersMiddleware:
    """Passes requests through ADMIN_MIDDLEWARE, the first one outermost, unless they are calls of the API."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._layered: Callable[[HttpRequest], Any] = get_response
        layers: list[Any] = []
        for path in reversed(settings.ADMIN_MIDDLEWARE):
            layers.insert(0, import_string(path)(self._layered))
            self._layered = convert_exception_to_response(layers[0])
        self._view_hooks = [layer.process_view for layer in layers if hasattr(layer, "process_view")]
        self._exception_hooks = [layer.process_exception for layer in layers if hasattr(layer, "process_exception")]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _is_call(request):
            return self._get_response(request)
        response: HttpResponse = self._layered(request)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        if _is_call(request):
            return None
        answers = (hook(request, view, args, kwargs) for hook in self._view_hooks)
        return next((answer for answer in answers if answer is not None), None)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if _is_call(request):
            return None
        answers = (hook(request, exception) for hook in reversed(self._exception_hooks))
        return next((answer for answer in answers if answer is not None), None)


def _is_call(request: HttpRequest) -> bool:
    return request.path_info.startswith(_CALLS)


class LongStatementsMiddleware(Middleware):
    """What staff ask for may take longer than a call: to delete a journey, or to search among a million people."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PAGES):
            return self.get_response(request)
        with longer_statements():
            return self.get_response(request)


class ActingMiddleware(Middleware):
    """The member of staff who is logged in acts. It must come after the one that knows the account.

    Nothing is looked up until somebody asks.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(lambda: _who(request)):
            return self.get_response(request)


def _who(request: HttpRequest) -> Actor:
    seen = exact_address(request)
    address = str(seen) if seen else None
    user = request.user
    if not isinstance(user, User):
        return Actor(kind=ActorKind.STRANGER, address=address)
    return Actor(kind=ActorKind.STAFF, id=str(user.pk), name=user.get_username(), address=address)


class ContentSecurityMiddleware(Middleware):
    """Adds CONTENT_SECURITY_POLICY to the admin's pages."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = super().__call__(request)
        if request.path.startswith(PAGES):
            response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response
