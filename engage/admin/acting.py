"""Says that the member of staff who is logged in acts."""

from collections.abc import Callable

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from engage.audit.acting import Actor, acting
from engage.http.client_address import exact_address
from engage.models import ActorKind


class ActingMiddleware:
    """Must come after the one that knows the account. Nothing is looked up until somebody asks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

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
