"""A batch of calls, each of them done and answered as if it had come alone.

They are done in their order. One that may be tried again later, because a limit was reached, the database is away or
the same call is being served at this moment, holds up those after it: they are not tried, and get the same answer, so
that whoever sends them again keeps their order.
"""

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from rest_framework.response import Response

from bridge.calls import CALLS, caller_of, require_proof
from bridge.serializers import Sender, call_of, idempotency_key, without_sending
from engage.http.envelope import answer_exception
from engage.http.idempotency import KeyedCall, RequestInProgress, require_idempotency_key
from engage.http.replays import answer_once

_HOLDS_UP = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


def do_batch(
    calls: Sequence[Any], *, sender: Sender, address_of: Callable[[str], str], count: Callable[[], None]
) -> list[Response]:
    """One answer per call. `address_of` gives the path of a call that comes alone, whose keys are the same.

    `count` counts one more call towards the limits, or raises; the first is counted already.
    """
    answers: list[Response] = []
    for item in calls:
        if answers and _holds_up(answers[-1]):
            answers.append(answers[-1])
            continue
        try:
            if answers:
                count()
            answers.append(_do(item, sender=sender, address_of=address_of))
        except Exception as error:  # noqa: BLE001 (as REST framework, for each call alone)
            answers.append(answer_exception(error, {}))
    return answers


def _do(item: Any, *, sender: Sender, address_of: Callable[[str], str]) -> Response:
    called, body = call_of(item, known=CALLS)
    key = idempotency_key(body, header=None)
    if key is None:
        return CALLS[called](body, sender=sender)
    require_idempotency_key(key, called="idempotencyKey")
    call = KeyedCall(
        caller=caller_of(body, sender=sender), path=address_of(called), key=key, body=without_sending(body)
    )
    work, prove = partial(CALLS[called], body, sender=sender), partial(require_proof, body, sender=sender)
    return cast("Response", answer_once(call, work, prove=prove))


def _holds_up(answer: Response) -> bool:
    return answer.status_code in _HOLDS_UP or answer.data.get("code") == RequestInProgress.code
