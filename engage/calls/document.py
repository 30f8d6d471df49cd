"""Calls in the OpenAPI document: what drf-spectacular is told of each, made from its definition."""

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from engage.calls.call import WORKSPACE_ID, Call
from engage.calls.queries import UnknownParameter, is_tolerant, parameter_refusals
from engage.calls.schema.bodies import TypedBody, also_spelled, member_schema
from engage.calls.schema.components import Envelope
from engage.calls.schema.every_call import OF_A_BODY, OF_AN_IDEMPOTENCY_KEY, OF_AN_SDK, OF_EVERY_CALL, SERVER_REFUSALS
from engage.calls.schema.responses import Responses, failures
from engage.calls.schema.shapes import shape_name
from engage.errors import Refusal
from engage.http.envelope import Success
from engage.http.idempotency import RequestInProgress
from engage.http.views import WorkspaceNotFound
from engage.json.fields import is_choice, members
from engage.json.writing import written

View = Callable[..., Any]
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
    "was refused can be corrected and sent again with the same key. Each caller and each path has its own keys. In "
    "double quotes, as the IETF's draft writes it, it is the same key.",
)


def described(call: Call, view: View) -> View:
    """The view's method, with its description."""
    body, of_server = call.signature.body, call.signature.is_of_server
    in_common = [
        *(OF_A_BODY if body else ()),
        *(OF_AN_IDEMPOTENCY_KEY if call.once else ()),
        *(SERVER_REFUSALS if of_server else OF_AN_SDK),
        *OF_EVERY_CALL,
    ]
    describe = extend_schema(
        operation_id=call.operation_id,
        tags=[call.tag],
        summary=call.summary,
        description=_in_words(call),
        parameters=[
            *_path_ids(call),
            *_parameters(call.signature.query),
            *call.parameters,
            *(_of_key(call) if call.once else ()),
            _REQUEST_ID,
        ],
        request=dict.fromkeys(call.media_types, TypedBody(body, optional=call.optional_body)) if body else None,
        examples=[
            OpenApiExample(title, value, request_only=True, media_type=sent_as)
            for sent_as in call.media_types
            for title, value in call.requests.items()
        ],
        responses=_successes(call) | failures([*_refusals(call)], in_common=in_common),
        extensions={REQUIRED_SCOPE: call.scope.value if call.scope else None} if of_server else {},
    )
    return describe(view)


def _in_words(call: Call) -> str:
    if not call.signature.is_of_server:
        return call.description
    needed = f"Needs the scope `{call.scope.value}`." if call.scope else _NO_SCOPE
    return f"{call.description}\n\n{needed}"


def _path_ids(call: Call) -> Iterator[OpenApiParameter]:
    for known in [WORKSPACE_ID, *call.ids] if call.is_of_workspace else call.ids:
        yield OpenApiParameter(known.keyword, str, OpenApiParameter.PATH, description=known.description)


def _parameters(query: type | None) -> Iterator[OpenApiParameter]:
    for member in members(query) if query else ():
        default = getattr(member.declared.default, "value", member.declared.default)
        schema = member_schema(member)
        if is_choice(member.hint):
            schema = {"type": "string", "enum": sorted(choice.value for choice in member.hint)}
        if isinstance(default, str | int) and default is not False:
            schema["default"] = default
        description = member.description + also_spelled(member)
        old = bool(schema.pop("deprecated", False))
        yield OpenApiParameter(member.spelling, schema, description=description, deprecated=old)


def _of_key(call: Call) -> list[OpenApiParameter]:
    replayed = OpenApiParameter(
        "Idempotency-Replayed",
        {"type": "string", "enum": ["true"]},
        location=OpenApiParameter.HEADER,
        description="`true` if this is a replay of the first answer to this Idempotency-Key.",
        response=[*call.answers],
    )
    retry_after = OpenApiParameter(
        "Retry-After",
        int,
        location=OpenApiParameter.HEADER,
        description="How many seconds to wait before trying again; at least 1.",
        response=[RequestInProgress.status],
    )
    return [_IDEMPOTENCY_KEY, replayed, retry_after]


def _successes(call: Call) -> Responses:
    data = call.signature.answer
    envelope = Envelope(call.answer_name or f"{shape_name(data)}Answer", data)
    return {
        status: OpenApiResponse(description=description)
        if status == HTTPStatus.NOT_MODIFIED
        else OpenApiResponse(envelope, description=description, examples=[*_examples(call, status)])
        for status, description in call.answers.items()
    }


def _examples(call: Call, status: int) -> Iterator[OpenApiExample]:
    for title, one in call.answered_examples():
        if (one.status or call.status) == status:
            answer = Success(success=True, message=one.says or call.says, data=written(one.data))
            yield OpenApiExample(title, answer)


def _refusals(call: Call) -> Iterator[Refusal]:
    if call.signature.query:
        yield from parameter_refusals(call.signature.query)
    if not is_tolerant(call.operation_id):
        yield UnknownParameter("more", call.parameter_names)
    if call.names and call.names.missing:
        yield call.names.missing(call.names.example)
    elif call.is_of_workspace:
        yield WorkspaceNotFound()
    yield from call.refuses
