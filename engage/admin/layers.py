"""The middlewares of the admin: sessions, accounts, forms and frames, of which calls of the API know nothing."""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

_CALLS = "/api/"
PAGES = "/admin/"


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
