"""The base of our middlewares."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class Middleware:
    """Passes a request on to the rest of the way, `get_response`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)
