"""The middlewares of the admin: sessions, accounts, forms and frames, of which calls of the API know nothing.

Those of other modules stand beside these in LAYERS.
"""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from engage.audit.acting import Actor, acting
from engage.database.statement_limit import longer_statements
from engage.http.client_address import exact_address
from engage.models import ActorKind
from engage.process.middleware import Middleware

PAGES = "/admin/"
# A browser loads nothing from other origins. Unfold's pages have inline scripts and styles, and Alpine evaluates
# expressions in their attributes.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


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
