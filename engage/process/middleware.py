"""The base of our middlewares, and which of all middlewares a request passes."""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string


class Middleware:
    """Passes a request on to the rest of the way, `get_response`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class _Layers:
    """Middlewares, the first one outermost."""

    def __init__(self, paths: Sequence[str], get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.call: Callable[[HttpRequest], Any] = get_response
        layers: list[Any] = []
        for path in reversed(paths):
            layers.insert(0, import_string(path)(self.call))
            self.call = convert_exception_to_response(layers[0])
        self.view_hooks = [layer.process_view for layer in layers if hasattr(layer, "process_view")]
        self.exception_hooks = [layer.process_exception for layer in layers if hasattr(layer, "process_exception")]


class LayersMiddleware:
    """Passes a request through the LAYERS of the first beginning that its path has: calls need few of them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._layers = {begin: _Layers(paths, get_response) for begin, paths in settings.LAYERS.items()}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self._of(request).call(request)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        answers = (hook(request, view, args, kwargs) for hook in self._of(request).view_hooks)
        return next((answer for answer in answers if answer is not None), None)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        answers = (hook(request, exception) for hook in reversed(self._of(request).exception_hooks))
        return next((answer for answer in answers if answer is not None), None)

    def _of(self, request: HttpRequest) -> _Layers:
        path = request.path_info
        return next(layers for begin, layers in self._layers.items() if path.startswith(begin))
