"""The base of all API views: authentication of the caller, rate limits and their headers."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, wraps
from typing import Any, ClassVar, Never, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.views import APIView

from engage.audit.acting import set_actor
from engage.audit.refusals import record_refused_call
from engage.database.keys import is_key
from engage.errors import MethodNotAllowed, Refusal
from engage.http.authentication import (
    ApiKeyAuthentication,
    AppAuthentication,
    NetworkNotAllowed,
    require_allowed_origin,
)
from engage.http.client_address import client_address
from engage.http.envelope import failure
from engage.http.idempotency import Caller
from engage.http.limits import RateLimitExceeded, Usage, count_bridge_call, count_call, networks_of
from engage.http.parsing import PlainTextJsonParser, StrictJsonParser
from engage.models import ApiKey, App
from engage.notations.rates import parse_rate
from engage.notations.sizes import MAX_BODY_BYTES, MAX_SDK_BODY_BYTES
from engage.scopes import Scope, ScopeMissing, require_scope

_Function = Callable[..., HttpResponse]
_READING = ("GET", "HEAD")
FOREIGN_WORKSPACE = "This API key belongs to another workspace than the one in the path."


class WorkspaceNotFound(Refusal):
    """The workspace in the path is not the API key's own; the answer does not say whether it exists."""

    status = 404
    error = "Workspace not found"
    says = f"The workspace is not found. {FOREIGN_WORKSPACE}"


class JourneyNotAllowed(Refusal):
    """The API key is for certain journeys only, and the call is about another."""

    status = 403
    error = "Journey not allowed"

    def __init__(self, journey_id: str) -> None:
        super().__init__(f"This API key is not for the journey {journey_id[:100]!r}.")


class AllJourneysNeeded(JourneyNotAllowed):
    """The API key is for certain journeys only, and the call is about all."""

    def __init__(self) -> None:
        super(JourneyNotAllowed, self).__init__(
            "This API key is for certain journeys only, and this call is about all."
        )


class ApiView(APIView):
    """The base of all API views. None serves OPTIONS: preflight requests are answered before they reach a view."""

    http_method_names = [name for name in APIView.http_method_names if name != "options"]
    format_kwarg = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """What our views have of REST framework's: no versions, permissions or throttles."""
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Never:
        taken = f'Method "{request.method}" not allowed; this address takes {", ".join(self.allowed_methods)}.'
        raise MethodNotAllowed(taken)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answers, and takes apart the circles in which view and request refer to each other.

        Otherwise the body would stay until the garbage collector comes by, which takes no notice of its size.
        """
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            set_actor(None)
            vars(self.request).get("parser_context", {}).clear()
            vars(self).clear()


def only_read(view: _Function) -> _Function:
    """For an address that is only read: other methods are 405 in JSON, before a CSRF token is asked for."""

    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method in _READING:
            return view(request, *args, **kwargs)
        allowed = {"Allow": ", ".join(_READING)}
        return failure(MethodNotAllowed(f'Method "{request.method}" not allowed.', headers=allowed))

    return guarded


class _LimitedView(ApiView):
    """A view that counts its caller's calls and reports the count on every answer."""

    max_body_bytes: ClassVar[int] = MAX_BODY_BYTES
    max_inflated_bytes: ClassVar[int] = MAX_BODY_BYTES  # more only where a body holds many records
    usage: Usage | None = None

    @property
    def caller(self) -> Caller:
        raise NotImplementedError

    def key_of(self, request: Request) -> str | None:
        """The Idempotency-Key, or None."""
        return request._request.META.get("HTTP_IDEMPOTENCY_KEY")

    def compared_body(self, request: Request) -> Any:
        """What of the body must be the same when the call is sent again with its key."""
        return request.data

    def require_proof(self, request: Request) -> None:
        """Raises unless it is proven who calls, if anything but the credential has to prove it."""

    def replay(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """The body of an earlier long answer, from its facts; for views that give such answers."""
        raise NotImplementedError

    def count(self, request: Request) -> Usage:
        raise NotImplementedError

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticates and counts the call first, so that calls refused by later checks are counted, too."""
        self.perform_authentication(request)
        self.note_usage(request)
        super().initial(request, *args, **kwargs)

    def note_usage(self, request: Request) -> None:
        """Counts the call, for the headers of its answer as well. Raises RateLimitExceeded."""
        try:
            self.usage = self.count(request)
        except RateLimitExceeded as exceeded:
            self.usage = exceeded.usage
            raise

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        final = super().finalize_response(request, response, *args, **kwargs)
        final["Cache-Control"] = "no-store"  # it may tell what is known of people
        if self.usage is not None:
            for name, value in self.usage.headers().items():
                final[name] = value
        return final


_RIGHTS = (ScopeMissing, JourneyNotAllowed, NetworkNotAllowed)


class ServerView(_LimitedView):
    """A call from a server with its API key. Each policy has its own count, in which reads are counted apart."""

    authentication_classes = (ApiKeyAuthentication,)
    policy: ClassVar[str]
    scope: ClassVar[Scope | None]

    def count(self, request: Request) -> Usage:
        key, reads = self.api_key, request.method in SAFE_METHODS
        limit, seconds = key.rate_for(self.policy, reads=reads)
        caller = f"{key.id} reads" if reads else key.id
        return count_call(request._request, policy=self.policy, caller=caller, limit=limit, window_seconds=seconds)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        key = self.api_key
        if key.scopes is not None and request.method in self.allowed_methods:
            require_scope(key.scopes, self.scope)
        if key.journeys is not None and (journey_id := self.journey_of()) not in {None, *key.journeys}:
            raise JourneyNotAllowed(str(journey_id))

    def handle_exception(self, exc: Exception) -> Any:
        """Also has the audit know what the key was refused for want of a right."""
        if isinstance(exc, _RIGHTS):
            record_refused_call(self.request._request, exc)
        return super().handle_exception(exc)

    def journey_of(self) -> str | None:
        """The journey that the call is about, from the ids in the path; None if it is about none, or nothing there."""
        raise NotImplementedError

    @cached_property
    def api_key(self) -> ApiKey:
        return cast("ApiKey", self.request.auth)

    def is_own(self, workspace: str) -> bool:
        """Whether this is the id of the API key's workspace, or its key."""
        key = self.api_key
        return workspace == key.workspace_id or (workspace == key.workspace_key and is_key(workspace))

    @property
    def caller(self) -> Caller:
        return Caller(workspace_id=self.api_key.workspace_id, api_key_id=self.api_key.id)


class SdkView(_LimitedView):
    """A call from an app's SDK with its app id. The rate limit is per app and address.

    The body is limited to what browsers still send when a page is left. As text/plain, and with the app's id in the
    query string, browsers send it without a preflight.
    """

    limited_as: ClassVar[str] = "bridge"
    authentication_classes = (AppAuthentication,)
    parser_classes = (StrictJsonParser, PlainTextJsonParser)
    max_body_bytes = max_inflated_bytes = MAX_SDK_BODY_BYTES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        require_allowed_origin(self.app, request.headers.get("Origin"))

    def count(self, request: Request) -> Usage:
        limit, seconds = parse_rate(self.rate)
        usage, *_ = [
            count_call(
                request._request,
                policy=self.limited_as,
                caller=f"{self.app.id} {network}",
                limit=limit * factor,
                window_seconds=seconds,
            )
            for network, factor in networks_of(self.address)
        ]
        return usage

    @property
    def rate(self) -> str:
        return str(settings.BRIDGE_RATE_LIMIT)

    def count_body(self, size: int) -> None:
        """Counts the call, now that its body is there, towards what its app may do in a day."""
        count_bridge_call(app_id=self.app.id, size=size)

    def count_one_more(self) -> None:
        """Counts another call that came with this one; its size is counted with the whole body.

        Raises RateLimitExceeded and AppQuotaExceeded.
        """
        self.note_usage(self.request)
        count_bridge_call(app_id=self.app.id, size=0)

    @property
    def app(self) -> App:
        return cast("App", self.request.auth)

    @cached_property
    def address(self) -> str:
        return client_address(self.request._request)

    @property
    def caller(self) -> Caller:
        return Caller(workspace_id=self.app.workspace_id, app_id=self.app.id)
