"""Descriptions of API calls: a `ServerCall` or an `SdkCall` decorates the view method that answers the call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.core.exceptions import DisallowedHost
from django.db import OperationalError
from django.http import Http404
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import exceptions

from engage.app_quotas import AppQuotaExceeded, Quota
from engage.authentication import KEY_LEAKED, KEY_NOT_VALID, InvalidAppId, OriginNotAllowed, Unauthorized
from engage.envelope import as_refusal
from engage.errors import BodyTooLarge, InvalidRequest, Refusal
from engage.idempotency import IdempotencyKeyReused, RequestInProgress
from engage.inflation import GZIP_TOO_SHORT, InvalidGzip
from engage.paging import InvalidCursor
from engage.parsing import body_too_large
from engage.rate_limit import RateLimitExceeded, Usage
from engage.schema.bodies import Body
from engage.schema.responses import Answer, failures, successes
from engage.sizes import MAX_BODY_BYTES, MAX_SDK_BODY_BYTES
from engage.storable_json import InvalidJson

View = TypeVar("View", bound=Callable[..., Any])

_EVERY_CALL = (
    RateLimitExceeded(
        Usage(policy="trigger", limit=100, window_seconds=60, remaining=0, seconds_left=18, resets_at=1_795_349_663)
    ),
    as_refusal(DisallowedHost()),
    as_refusal(exceptions.NotAcceptable()),
    as_refusal(OperationalError()),
    as_refusal(Exception()),
)
_CALL_WITH_BODY = (
    InvalidRequest("external_id must be a string, but a number came."),
    InvalidJson("The body is not JSON: Expecting ',' delimiter at line 3, column 5."),
    InvalidGzip(GZIP_TOO_SHORT),
    as_refusal(exceptions.UnsupportedMediaType("text/plain")),
)
_REQUEST_ID = OpenApiParameter(
    "X-Request-Id",
    location=OpenApiParameter.HEADER,
    description="An id that you choose for this request: up to 64 letters, digits, - and _. It is returned in the "
    "answer and written to the service's logs. If it is missing or malformed, the service generates one.",
)

_IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    location=OpenApiParameter.HEADER,
    description="A key that you choose for this call, ideally a random one: 1 to 255 visible ASCII characters. For 24 "
    "hours, a call with the same key and the same body is not carried out again: it returns the first answer, with "
    "`Idempotency-Replayed: true`. A different body with the same key is refused. Only successes are kept: a call that "
    "was refused can be corrected and sent again with the same key. Each caller and each path has its own keys.",
)


def path_id(name: str, description: str) -> OpenApiParameter:
    """An id in the path; `name` is its name in the route."""
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


WORKSPACE_ID = path_id("workspace_id", "The workspace's id. Must be the workspace of the API key.")


def page_parameters(*, default: int, at_most: int) -> list[OpenApiParameter]:
    """The parameters of a call that answers page by page."""
    size = {"type": "integer", "minimum": 1, "maximum": at_most, "default": default}
    return [
        OpenApiParameter("limit", size, description="The maximum number of items to return."),
        OpenApiParameter(
            "cursor", str, description="The `nextCursor` of the previous page. Omit it for the first page."
        ),
    ]


def bad_page(*, at_most: int) -> list[Refusal]:
    """The refusals of such parameters."""
    return [InvalidRequest(f"limit must be a whole number from 1 to {at_most}."), InvalidCursor()]


@dataclass(frozen=True, kw_only=True)
class _Call:
    """The description of a call. `requests` are examples of its body, by title.

    `refusals` are those specific to this call; the ones that every call of its kind can return are added.
    """

    operation_id: str
    tag: str
    summary: str
    description: str
    parameters: Sequence[OpenApiParameter] = ()
    body: Body | None = None
    requests: Mapping[str, Any] = field(default_factory=dict)
    answers: Sequence[Answer]
    refusals: Sequence[Refusal] = ()

    def __call__(self, view: View) -> View:
        is_once = vars(view).get("is_once_per_key", False)
        of_body = [*_CALL_WITH_BODY, self._body_too_large()] if self.body else []
        of_key = [RequestInProgress(), IdempotencyKeyReused()] if is_once else []
        refusals = [*self.refusals, *of_body, *of_key, *self._of_every_such_call(), *_EVERY_CALL]
        describe = extend_schema(
            operation_id=self.operation_id,
            tags=[self.tag],
            summary=self.summary,
            description=self.description.strip(),
            parameters=[*self.parameters, *(self._about_key() if is_once else ()), _REQUEST_ID],
            request=self.body,
            examples=[OpenApiExample(title, value, request_only=True) for title, value in self.requests.items()],
            responses=successes(self.answers) | failures(refusals),
        )
        return describe(view)

    def _about_key(self) -> list[OpenApiParameter]:
        replayed = OpenApiParameter(
            "Idempotency-Replayed",
            {"type": "string", "enum": ["true"]},
            location=OpenApiParameter.HEADER,
            description="`true` if this is a replay of the first answer to this Idempotency-Key.",
            response=[answer.status for answer in self.answers],
        )
        retry_after = OpenApiParameter(
            "Retry-After",
            int,
            location=OpenApiParameter.HEADER,
            description="How many seconds to wait before trying again; at least 1.",
            response=[RequestInProgress.status],
        )
        return [_IDEMPOTENCY_KEY, replayed, retry_after]

    def _of_every_such_call(self) -> list[Refusal]:
        raise NotImplementedError

    def _body_too_large(self) -> BodyTooLarge:
        raise NotImplementedError


class ServerCall(_Call):
    """A call from a server, which sends an API key, and ids in the path."""

    def _of_every_such_call(self) -> list[Refusal]:
        return [Unauthorized(KEY_NOT_VALID), as_refusal(Http404())]

    def _body_too_large(self) -> BodyTooLarge:
        return body_too_large(MAX_BODY_BYTES)


class SdkCall(_Call):
    """A call from an app's SDK, which sends an app id."""

    def _of_every_such_call(self) -> list[Refusal]:
        return [
            InvalidRequest(KEY_LEAKED),
            InvalidAppId(),
            OriginNotAllowed("https://elsewhere.example"),
            AppQuotaExceeded(Quota.CALLS),
        ]

    def _body_too_large(self) -> BodyTooLarge:
        return body_too_large(MAX_SDK_BODY_BYTES)
