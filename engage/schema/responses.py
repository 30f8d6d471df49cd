"""The responses of a call, by status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from engage.envelope import Failure, Success, failure_body
from engage.errors import Refusal
from engage.keywords import STRICT
from engage.schema.components import Envelope
from engage.schema.shapes import shape_name

Responses = dict[int, OpenApiResponse]
_REQUEST_ID = "9f2c4e0d8b7a4c1f8e6d5b3a2c1d0e9f"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A successful answer to a call: the type of its `data`, and examples by title, each a message with its data.

    The answer's type is called `<data>Answer`. If its data are one of several types, it needs a `name`.
    """

    data: Any
    description: str
    examples: Mapping[str, tuple[str, Any]]
    status: int = HTTPStatus.OK
    name: str | None = None


def successes(answers: Iterable[Answer]) -> Responses:
    """The responses for these answers, by status; their statuses must differ."""
    return {
        answer.status: OpenApiResponse(
            Envelope(answer.name or f"{shape_name(answer.data)}Answer", answer.data),
            description=answer.description,
            examples=[
                OpenApiExample(title, Success(success=True, message=message, data=data))
                for title, (message, data) in answer.examples.items()
            ],
        )
        for answer in answers
    }


def failures(refusals: Iterable[Refusal]) -> Responses:
    """The responses for these refusals, by status. Each refusal serves as an example of its class and its message."""

    def status(refusal: Refusal) -> int:
        return refusal.status

    return {number: _failure(list(alike)) for number, alike in groupby(sorted(refusals, key=status), key=status)}


def _failure(refusals: Sequence[Refusal]) -> OpenApiResponse:
    """One response for all refusals with this status. The strict form of its schema allows only their codes."""
    kinds = list(dict.fromkeys(type(refusal) for refusal in refusals))
    reasons = [f"**{kind.error}** (`{kind.code}`): {kind.__doc__}" for kind in kinds]
    codes = [{"properties": {"error": {"const": kind.error}, "code": {"const": kind.code}}} for kind in kinds]
    return OpenApiResponse(
        {"$ref": f"#/components/schemas/{shape_name(Failure)}", STRICT: {"anyOf": codes}},
        description="\n".join(f"- {reason}" for reason in reasons) if len(reasons) > 1 else reasons[0],
        examples=[_example(refusal, refusals) for refusal in refusals],
    )


def _example(refusal: Refusal, beside: Sequence[Refusal]) -> OpenApiExample:
    same = [other for other in beside if other.error == refusal.error]
    title = refusal.error if len(same) == 1 else f"{refusal.error} {same.index(refusal) + 1}"
    return OpenApiExample(title, {**failure_body(refusal), "requestId": _REQUEST_ID})
