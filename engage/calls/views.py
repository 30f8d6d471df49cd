"""Makes views of calls: one for each path, with a method for each call there."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, wraps
from http import HTTPStatus
from itertools import groupby
from types import NoneType
from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path
from django.utils.encoding import escape_uri_path
from rest_framework import exceptions
from rest_framework.request import Request

from engage.calls.asked import Asked, AskedBySdk
from engage.calls.call import Call, as_answered
from engage.calls.document import described
from engage.calls.queries import DRY_RUN_MESSAGE, DryRun, is_dry_run, is_tolerant, read_query, require_known
from engage.errors import UnsupportedMediaType
from engage.http.envelope import success
from engage.http.parsing import MergePatchParser
from engage.http.preconditions import unless_known
from engage.http.replays import once_per_key
from engage.http.views import FOREIGN_WORKSPACE, AllJourneysNeeded, SdkView, ServerView, WorkspaceNotFound
from engage.json.fields import snake_case
from engage.json.reading import read
from engage.json.writing import written
from engage.notations.sizes import MAX_BODY_BYTES
from engage.scopes import Scope


def urlpatterns(calls: Iterable[Call], *, below: str) -> list[URLPattern | URLResolver]:
    """Addresses below this one. Calls that share a path become one view.

    What is called often stands first, alone: a pattern inside another costs as much as ten beside each other. The
    others are looked for together if their paths share a begin. No look-up of `jobs/{jobId}` takes what is
    `{journeyId}/graph`.
    """
    ordered = sorted(calls, key=lambda call: (_begin(call), call.path.endswith("}"), call.path))
    of_path = {known: list(those) for known, those in groupby(ordered, key=lambda call: call.path)}
    often = [those for those in of_path.values() if any(call.often for call in those)]
    others = [those for those in of_path.values() if those not in often]
    return [
        *(_urlpattern(those, below=below) for those in often),
        *(
            path(below + begin, include([_urlpattern(those, without=begin) for those in found]))
            for begin, found in groupby(others, key=lambda those: _begin(those[0]))
        ),
    ]


def _begin(call: Call) -> str:
    """`customers/`, or the whole path if it has no slash."""
    first, slash, _ = call.path.partition("/")
    return first + slash


def _urlpattern(calls: Sequence[Call], *, below: str = "", without: str = "") -> URLPattern:
    with_slashes = {one.name for one in calls[0].ids if one.may_hold_slashes}
    return path(below + _route(calls[0].path.removeprefix(without), with_slashes), _view(calls))


def _route(documented: str, with_slashes: Collection[str]) -> str:
    """`customers/{workspaceId}` as Django writes it: `customers/<str:workspace_id>`."""
    parts = documented.replace("{", "}").split("}")
    return "".join(
        f"<{'path' if part in with_slashes else 'str'}:{snake_case(part)}>" if place % 2 else part
        for place, part in enumerate(parts)
    )


class _Endpoint:
    request: Any
    calls: ClassVar[Mapping[str, Call]] = {}

    @cached_property
    def call(self) -> Call:
        """The call that is made; where the path has none with this method, the first of those that it has."""
        method = "GET" if self.request.method == "HEAD" else str(self.request.method)
        return self.calls.get(method) or next(iter(self.calls.values()))

    @property
    def ids(self) -> Mapping[str, str]:
        """What the path names, by keyword."""
        return self.kwargs  # type: ignore[no-any-return, attr-defined]


class _ServerEndpoint(_Endpoint, ServerView):
    @property
    def policy(self) -> str:  # type: ignore[override]
        return self.call.policy

    @property
    def scope(self) -> Scope | None:  # type: ignore[override]
        return self.call.scope

    @property
    def max_body_bytes(self) -> int:  # type: ignore[override]
        return self.call.max_body_bytes or MAX_BODY_BYTES

    @property
    def max_inflated_bytes(self) -> int:  # type: ignore[override]
        return self.call.max_inflated_bytes or self.max_body_bytes

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.call.is_of_workspace and not self.call.missing and not self.is_own(kwargs["workspace_id"]):
            raise WorkspaceNotFound
        if self.call.of_all_journeys and self.api_key.journeys is not None:
            raise AllJourneysNeeded

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """With the ids of what the path names by its key, if it is of the API key's workspace."""
        path: Mapping[str, str] = self.kwargs
        is_own = self.call.is_of_workspace and self.is_own(path["workspace_id"])
        return self.call.ids_in(self.api_key.workspace_id, path) if is_own else path

    def journey_of(self) -> str | None:
        return self.call.journey_of(self.api_key.workspace_id, self.ids)

    def asked(self, **sent: Any) -> Asked[Any, Any]:
        return Asked(key=self.api_key, **sent)


class _PatchedEndpoint(_ServerEndpoint):
    """Takes merge patches under both of their names."""

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        made: Any = super().initialize_request(request, *args, **kwargs)
        if request.method == "PATCH":
            made.parsers = [*made.parsers, MergePatchParser()]
        return made  # type: ignore[no-any-return]

    def handle_exception(self, exc: Exception) -> Any:
        if self.call.merges and isinstance(exc, exceptions.UnsupportedMediaType):
            taken = self.call.media_types
            says = f"The body must be sent as {' or '.join(taken)}."
            exc = UnsupportedMediaType(says, headers={"Accept-Patch": ", ".join(taken)})
        return super().handle_exception(exc)


class _SdkEndpoint(_Endpoint, SdkView):
    def asked(self, **sent: Any) -> AskedBySdk[Any, Any]:
        return AskedBySdk(app=self.app, address=self.address, count_one_more=self.count_one_more, **sent)


def _view(calls: Sequence[Call]) -> Callable[..., HttpResponseBase]:
    methods = {call.method.lower(): _method(call) for call in calls}
    name = "".join(part.title() for part in calls[0].function.__name__.split("_"))
    of_server = _PatchedEndpoint if any(call.merges for call in calls) else _ServerEndpoint
    endpoint = of_server if calls[0].signature.is_of_server else _SdkEndpoint
    own = [calls[0].view] if calls[0].view else []
    view = type(name, (endpoint, *own), {**methods, "calls": {call.method: call for call in calls}})
    return view.as_view()  # type: ignore[no-any-return, attr-defined]


def _method(call: Call) -> Callable[..., HttpResponseBase]:
    """The view's method: translates in, makes the one domain call, translates out."""

    @wraps(call.function)
    def answer(view: Any, request: Request, **_: str) -> HttpResponseBase:
        signature = call.signature
        body = _body(call, request) if signature.body else None
        query = _query(call, request)
        if call.names and call.names.missing and not view.is_own(view.ids["workspace_id"]):
            raise call.names.missing(view.ids[call.names.keyword]).because(FOREIGN_WORKSPACE)
        asked = view.asked(body=body, query=query, request=request)
        response = answered(call, call.function(asked, **call.found(asked.workspace_id, view.ids)), query, request.path)
        return unless_known(request._request, response) if call.method == "GET" else response

    if not call.once:
        return described(call, answer)
    rehearses = issubclass(call.signature.query or NoneType, DryRun)
    return described(call, (once_per_key(unless=is_dry_run) if rehearses else once_per_key())(answer))


def _body(call: Call, request: Request) -> Any:
    shape: Any = call.signature.body
    return request.data if call.merges else read(shape, request.data)


def _query(call: Call, request: Request) -> Any:
    shape = call.signature.query
    if not request._request.META.get("QUERY_STRING"):
        return shape() if shape else None
    if not is_tolerant(call.operation_id):
        require_known(request.query_params, call.parameter_names)
    return read_query(shape, request.query_params) if shape else None


def answered(call: Call, found: Any, query: Any, path: str) -> HttpResponseBase:
    """The response to a call of this path whose function returned this."""
    if isinstance(found, HttpResponseBase):
        return found
    one = as_answered(found)
    is_rehearsed = isinstance(query, DryRun) and query.dry_run
    says = one.says or (DRY_RUN_MESSAGE if is_rehearsed else call.says)
    response = success(says, written(one.data), status=one.status or call.status)
    for name, value in one.headers.items():
        response[name] = value
    if response.status_code == HTTPStatus.CREATED:
        response["Location"] = escape_uri_path(f"{path}/{one.below}" if one.below else path)
    return response
