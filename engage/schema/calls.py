"""Descriptions of API calls: a `ServerCall` or an `SdkCall` decorates the view method that answers the call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema

from engage.errors import Refusal
from engage.http.idempotency import RequestInProgress
from engage.schema.bodies import TypedBody
from engage.schema.every_call import OF_A_BODY, OF_A_SERVER, OF_AN_IDEMPOTENCY_KEY, OF_AN_SDK, OF_EVERY_CALL
from engage.schema.responses import Answer, failures, successes
from engage.scopes import Scope

View = TypeVar("View", bound=Callable[..., Any])
REQUIRED_SCOPE = "x-required-scope"
_NO_SCOPE = "Needs no scope: any valid key may make this call."

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
    body: TypedBody | None = None
    requests: Mapping[str, Any] = field(default_factory=dict)
    answers: Answer | Sequence[Answer]
    refusals: Sequence[Refusal] = ()
    of_every_such_call: ClassVar[Sequence[Refusal]] = ()

    def __call__(self, view: View) -> View:
        is_once = vars(view).get("is_once_per_key", False)
        of_body = OF_A_BODY if self.body else ()
        of_key = OF_AN_IDEMPOTENCY_KEY if is_once else ()
        in_common = [*of_body, *of_key, *self.of_every_such_call, *OF_EVERY_CALL]
        describe = extend_schema(
            operation_id=self.operation_id,
            tags=[self.tag],
            summary=self.summary,
            description=self.in_words,
            parameters=[*self.parameters, *(self._about_key() if is_once else ()), _REQUEST_ID],
            request=self.body,
            examples=[OpenApiExample(title, value, request_only=True) for title, value in self.requests.items()],
            responses=successes(self._answers) | failures(self.refusals, in_common=in_common),
            extensions=self.extensions,
        )
        return describe(view)

    @property
    def extensions(self) -> dict[str, Any]:
        return {}

    @property
    def in_words(self) -> str:
        return self.description.strip()

    @property
    def _answers(self) -> Sequence[Answer]:
        return [self.answers] if isinstance(self.answers, Answer) else self.answers

    def _about_key(self) -> list[OpenApiParameter]:
        replayed = OpenApiParameter(
            "Idempotency-Replayed",
            {"type": "string", "enum": ["true"]},
            location=OpenApiParameter.HEADER,
            description="`true` if this is a replay of the first answer to this Idempotency-Key.",
            response=[answer.status for answer in self._answers],
        )
        retry_after = OpenApiParameter(
            "Retry-After",
            int,
            location=OpenApiParameter.HEADER,
            description="How many seconds to wait before trying again; at least 1.",
            response=[RequestInProgress.status],
        )
        return [_IDEMPOTENCY_KEY, replayed, retry_after]


@dataclass(frozen=True, kw_only=True)
class ServerCall(_Call):
    """A call from a server, which sends an API key that has the scope (None: any key)."""

    scope: Scope | None
    of_every_such_call = OF_A_SERVER

    @property
    def extensions(self) -> dict[str, Any]:
        return {REQUIRED_SCOPE: self.scope.value if self.scope else None}

    @property
    def in_words(self) -> str:
        needed = f"Needs the scope `{self.scope.value}`." if self.scope else _NO_SCOPE
        return f"{super().in_words}\n\n{needed}"


class SdkCall(_Call):
    """A call from an app's SDK, which sends an app id."""

    of_every_such_call = OF_AN_SDK
