"""Calls in the OpenAPI document: what drf-spectacular is told of each, made from its definition."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from engage.calls.call import WORKSPACE_ID, Call
from engage.calls.queries import parameter_refusals
from engage.errors import Refusal
from engage.http.views import WorkspaceNotFound
from engage.json.fields import is_choice, members
from engage.json.writing import written
from engage.schema.bodies import TypedBody, also_spelled, member_schema
from engage.schema.calls import SdkCall, ServerCall, path_id
from engage.schema.responses import Answer

View = Callable[..., Any]


def described(call: Call, view: View) -> View:
    """The view's method, with its description."""
    signature = call.signature
    kind = partial(ServerCall, scope=call.scope) if signature.is_of_server else SdkCall
    describe = kind(
        operation_id=call.operation_id,
        tag=call.tag,
        summary=call.summary,
        description=call.description,
        parameters=[*_path_ids(call), *_parameters(signature.query), *call.parameters],
        body=TypedBody(signature.body, optional=call.optional_body) if signature.body else None,
        requests=call.requests,
        answers=[*_answers(call)],
        refusals=[*_refusals(call)],
    )
    return describe(view)


def _path_ids(call: Call) -> Iterator[OpenApiParameter]:
    for known in [WORKSPACE_ID, *call.ids] if call.is_of_workspace else call.ids:
        yield path_id(known.keyword, known.description)


def _parameters(query: type | None) -> Iterator[OpenApiParameter]:
    for member in members(query) if query else ():
        default = getattr(member.declared.default, "value", member.declared.default)
        schema = member_schema(member)
        if is_choice(member.hint):
            schema = {"type": "string", "enum": sorted(choice.value for choice in member.hint)}
        if default not in {None, False}:
            schema["default"] = default
        description = member.description + also_spelled(member)
        yield OpenApiParameter(member.spelling, schema, description=description)


def _answers(call: Call) -> Iterator[Answer]:
    for status, description in call.answers.items():
        examples = {
            title: (one.says or call.says, written(one.data))
            for title, one in call.answered_examples()
            if (one.status or call.status) == status
        }
        yield Answer(
            name=call.answer_name,
            data=call.signature.answer,
            description=description,
            examples=examples,
            status=status,
        )


def _refusals(call: Call) -> Iterator[Refusal]:
    if call.signature.query:
        yield from parameter_refusals(call.signature.query)
    if call.missing:
        yield call.missing(call.ids[-1].example)
    elif call.is_of_workspace:
        yield WorkspaceNotFound()
    yield from call.refuses
