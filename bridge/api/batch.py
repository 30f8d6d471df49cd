"""A batch of calls, each of them done and answered as if it had come alone.

They are done in their order. One that may be tried again later, because a limit was reached, the database is away or
the same call is being served at this moment, holds up those after it: they are not tried, and get the same answer, so
that whoever sends them again keeps their order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from bridge.api.in_app import with_due
from bridge.api.interaction_bodies import ActionBody, CaptureBody, ShownBody
from bridge.api.interactions import (
    MESSAGE,
    ActionDone,
    FormCaptured,
    LinkOpened,
    MessageShown,
    capture_form,
    record_action,
    record_shown_message,
)
from bridge.api.senders import Sender, caller_of, idempotency_key, require_proof, without_sending
from bridge.in_app.due import Rendered
from engage.calls.asked import AskedBySdk
from engage.calls.call import Answered, as_answered, post
from engage.errors import FailureDetail, InvalidRequest, MissingParameter
from engage.http.envelope import JsonAnswer, answer_exception, success
from engage.http.idempotency import KeyedCall, RequestInProgress, require_idempotency_key
from engage.http.replays import answer_once
from engage.json.fields import Items, Text
from engage.json.keywords import Keywords, OneOf
from engage.json.reading import ArraySizeExceeded, read
from engage.json.storable import describe
from engage.json.writing import written
from engage.process.budget import for_many, third

_MAX_CALLS = 50
_HOLDS_UP = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
# What an item is, by its `call`: its body, and what is done.
_CALLS: Mapping[str, tuple[Any, Callable[[Any], Any]]] = {
    "action": (ActionBody, record_action),
    "capture": (CaptureBody, capture_form),
    "shown": (ShownBody, record_shown_message),
}


@dataclass(frozen=True, kw_only=True)
class CallsBody:
    """Calls that waited, each read and done on its own."""

    calls: Annotated[
        list[Any],
        "The calls, in the order in which they are to be done.",
        Items(most=_MAX_CALLS),
        Keywords(items={"type": "object", "additionalProperties": True}, strict={"items": {}}),
    ]
    identity_token: Annotated[
        str | None, "For those calls that have none of their own.", Text(longest=None, blank_is_absent=True)
    ] = None


RecordedCall = Annotated[ActionDone | FormCaptured | MessageShown, OneOf("RecordedCall")]


class CallDone(TypedDict):
    """A call of a batch that was done, with the answer that it would get alone."""

    status: Annotated[int, "The status that it would have alone."]
    success: Annotated[Literal[True], "Whether it was done."]
    message: str
    data: RecordedCall


class CallRefused(TypedDict):
    """A call of a batch that was refused, with the failure that it would get alone."""

    status: Annotated[int, "The status that it would have alone."]
    success: Literal[False]
    error: str
    message: str
    code: str
    requestId: str
    details: NotRequired[list[FailureDetail]]


CallResult = Annotated[CallDone | CallRefused, OneOf("CallResult")]


@dataclass(frozen=True)
class BatchDone:
    """The results of a batch."""

    results: Annotated[Sequence[CallResult], "One result per call, in the order sent."]


_SHOWN = "Message shown."
_LINK: Any = written(LinkOpened())


@post(
    path="sdk/bridge/batch",
    scope=None,
    policy="bridge",
    tag="In-app messages",
    often=True,
    answer="Returns one result per call, even if all of them failed.",
    answer_name="CallsAnswer",
    requests={
        "A click and a form": {
            "calls": [
                {
                    "call": "action",
                    "messageId": MESSAGE,
                    "userId": "u-1",
                    "actionType": "link",
                    "idempotencyKey": "k-1",
                },
                {"call": "capture", "messageId": MESSAGE, "userId": "u-1", "formData": {"": "Ulm"}},
            ]
        }
    },
    examples={
        "One done, one refused": Answered(
            says="1 of 2 calls done.",
            data=BatchDone(
                [
                    CallDone(status=200, success=True, message="Link recorded.", data=_LINK),
                    CallRefused(
                        status=400,
                        success=False,
                        error=InvalidRequest.error,
                        message="formData has a name with no characters.",
                        code=InvalidRequest.code,
                        requestId="5c1f0d7e9b2a4c3d",
                    ),
                ]
            ),
        )
    },
    refuses=[
        MissingParameter("calls is required."),
        ArraySizeExceeded(f"calls holds 51 items; its maximum is {_MAX_CALLS}."),
    ],
)
def record_calls(asked: AskedBySdk[CallsBody, None]) -> Answered[BatchDone]:
    """Record many calls

    Does up to 50 calls that waited, in their order. Each item has `call`, which is `action`, `capture` or `shown`, and
    the fields of that call's body. Each is done, counted and answered as if it had come alone, and has its own
    `idempotencyKey`, which is the same as that of the call alone. The answer is 200 whatever became of each call.

    If a call is refused because of a limit (429), because the database is unavailable (503), or because the same call
    is in progress (409, `request_in_progress`), those after it are not tried and have the same result, so that they
    stay in order when they are sent again.
    """
    answers: list[JsonAnswer] = []
    rendered: Rendered = {}
    for item in asked.body.calls:
        if answers and _holds_up(answers[-1]):
            answers.append(answers[-1])
            continue
        try:
            if answers:  # the first is counted already
                asked.count_one_more()
            with for_many(1), third():
                answers.append(with_due(_do(item, asked), item, sender=_sender(asked), rendered=rendered))
        except Exception as error:  # noqa: BLE001 (as REST framework, for each call alone)
            answers.append(answer_exception(error, {}))
    waits = [one["Retry-After"] for one in answers if "Retry-After" in one]
    done = sum(one.status_code < HTTPStatus.BAD_REQUEST for one in answers)
    return Answered(
        data=BatchDone([cast("CallResult", {"status": one.status_code, **one.body}) for one in answers]),
        says=f"{done} of {len(answers)} calls done.",
        headers={"Retry-After": waits[0]} if waits else {},
    )


def _do(item: Any, asked: AskedBySdk[CallsBody, None]) -> JsonAnswer:
    called, body = _call_of(item)
    work = partial(_work, called, body, asked)
    key = idempotency_key(body, header=None)
    if key is None:
        return work()
    require_idempotency_key(key, called="idempotencyKey")
    # The keys of a call that comes alone are the same.
    address = f"{asked.request.path.rpartition('/')[0]}/{called}"
    call = KeyedCall(caller=caller_of(body, app=asked.app), path=address, key=key, body=without_sending(body))
    return cast("JsonAnswer", answer_once(call, work, prove=partial(require_proof, body, sender=_sender(asked))))


def _sender(asked: AskedBySdk[CallsBody, None]) -> Sender:
    sender = Sender.of(asked)
    return replace(sender, identity_token=asked.body.identity_token or sender.identity_token)


def _work(called: str, sent: Any, asked: AskedBySdk[CallsBody, None]) -> JsonAnswer:
    shape, do = _CALLS[called]
    body = read(shape, sent)
    alone = replace(body, identity_token=body.identity_token or asked.body.identity_token)
    done = as_answered(do(replace(cast("Any", asked), body=alone)))
    return success(done.says or _SHOWN, written(done.data))


def _call_of(item: Any) -> tuple[str, dict[str, Any]]:
    """Which call an item is, and its body. Raises MissingParameter or InvalidRequest."""
    if not isinstance(item, dict):
        raise InvalidRequest(f"A call must be an object, but {describe(item)} came.")
    called = item.get("call")
    if called is None:
        raise MissingParameter("call is required.")
    if called not in tuple(_CALLS):
        raise InvalidRequest(f"call must be one of {', '.join(_CALLS)}.")
    return called, {name: value for name, value in item.items() if name != "call"}


def _holds_up(answer: JsonAnswer) -> bool:
    return answer.status_code in _HOLDS_UP or answer.body.get("code") == RequestInProgress.code
