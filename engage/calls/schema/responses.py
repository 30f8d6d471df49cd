"""The failures of a call, by status."""

from collections.abc import Sequence

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from engage.calls.schema.forms import IS_OF_EVERY_CALL
from engage.calls.schema.shapes import Schema, shape_name
from engage.errors import Refusal
from engage.http.envelope import Failure, failure_body
from engage.json.keywords import STRICT

Responses = dict[int, OpenApiResponse]
_REQUEST_ID = "9f2c4e0d8b7a4c1f8e6d5b3a2c1d0e9f"


def failures(own: Sequence[Refusal], *, in_common: Sequence[Refusal]) -> Responses:
    """The responses for a call's own refusals and for those that it has in common with others, by status.

    Each refusal serves as an example of its class and its message.
    """
    statuses = sorted({refusal.status for refusal in (*own, *in_common)})
    return {status: _failure(_with_status(status, own), _with_status(status, in_common)) for status in statuses}


def _with_status(status: int, refusals: Sequence[Refusal]) -> list[Refusal]:
    return [refusal for refusal in refusals if refusal.status == status]


def _failure(own: list[Refusal], in_common: list[Refusal]) -> OpenApiResponse:
    """One response for all refusals with a status. It tells the call's own, if there are any.

    The strict form of its schema allows only their codes.
    """
    kinds = _kinds([*own, *in_common])
    codes = [{"properties": {"error": {"const": kind.error}, "code": {"const": kind.code}}} for kind in kinds]
    told = own or in_common
    return OpenApiResponse(
        {
            "$ref": f"#/components/schemas/{shape_name(Failure)}",
            STRICT: {"anyOf": codes},
            IS_OF_EVERY_CALL: not own,
        },
        description=_in_words(_kinds(told), others=len(kinds) > len(_kinds(told))),
        examples=[_example(refusal, told) for refusal in told],
    )


def _kinds(refusals: Sequence[Refusal]) -> list[type[Refusal]]:
    return list(dict.fromkeys(type(refusal) for refusal in refusals))


def _in_words(kinds: Sequence[type[Refusal]], *, others: bool) -> str:
    reasons = [f"**{kind.error}** (`{kind.code}`): {kind.__doc__}" for kind in kinds]
    reasons += ["Or an error that every call can have."] if others else []
    return "\n".join(f"- {reason}" for reason in reasons) if len(reasons) > 1 else reasons[0]


def codes_of(response: Schema) -> list[str]:
    """The codes of a failure, from a response of the document that has no form yet."""
    strict = _schema(response)[STRICT]
    return [either["properties"]["code"]["const"] for either in strict["anyOf"]]


def is_of_every_call(response: Schema) -> bool:
    """Whether a response of the document, which has no form yet, tells only failures that calls have in common."""
    return bool(_schema(response).get(IS_OF_EVERY_CALL))


def _schema(response: Schema) -> Schema:
    schema: Schema = response.get("content", {}).get("application/json", {}).get("schema", {})  # a 304 has none
    return schema


def _example(refusal: Refusal, beside: Sequence[Refusal]) -> OpenApiExample:
    same = [other for other in beside if other.error == refusal.error]
    title = refusal.error if len(same) == 1 else f"{refusal.error} {same.index(refusal) + 1}"
    return OpenApiExample(title, {**failure_body(refusal), "requestId": _REQUEST_ID})
