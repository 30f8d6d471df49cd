"""Views that do a call with an `Idempotency-Key` once, and replay its answer afterwards."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, Protocol, cast

from django.db import transaction
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from engage.http.envelope import JsonAnswer
from engage.http.idempotency import Caller, KeptAnswer, KeyedCall, begin_once, keep_answer, require_idempotency_key
from engage.http.long_answers import LongAnswer, long_answer

Method = Callable[..., HttpResponseBase]


class ReplayingView(Protocol):
    """What a view must provide besides its work."""

    @property
    def caller(self) -> Caller: ...

    def key_of(self, request: Request) -> str | None:
        """The call's key, as it was sent; None if it has none."""
        ...

    def compared_body(self, request: Request) -> Any:
        """What of the body must be the same when the call is sent again."""
        ...

    def require_proof(self, request: Request) -> None:
        """Raises, as the work would, unless the call is from whom a kept answer is for."""
        ...

    def replay(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """The body of one of this view's earlier long answers, from its facts; for views that give such answers."""
        ...


def _never(request: Request) -> bool:
    return False


def once_per_key(*, unless: Callable[[Request], bool] = _never) -> Callable[[Method], Method]:
    """Decorates a view's method to do its work once per `Idempotency-Key`, if the caller sends one.

    The work and its answer are then one transaction, so anything that must wait for the commit belongs in
    `transaction.on_commit`. A well-formed key is ignored for requests for which `unless` returns True, because they
    change nothing.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def answer(view: ReplayingView, request: Request, **ids: str) -> HttpResponseBase:
            key = view.key_of(request)
            if key is not None:
                require_idempotency_key(key)
            if key is None or unless(request):
                return method(view, request, **ids)
            call = KeyedCall(caller=view.caller, path=request.path, key=key, body=view.compared_body(request))
            work, prove = partial(method, view, request, **ids), partial(view.require_proof, request)
            return answer_once(call, work, prove=prove, replay=view.replay)

        return answer

    return decorate


def answer_once(
    call: KeyedCall,
    work: Callable[[], HttpResponseBase],
    *,
    prove: Callable[[], None],
    replay: Callable[[Mapping[str, Any]], Iterator[str]] | None = None,
) -> HttpResponseBase:
    """The answer of `work`, or the earlier one to this call. Raises RequestInProgress and IdempotencyKeyReused.

    What `work` asks of who calls, `prove` asks of who is given the earlier answer: it raises the same. `replay` makes
    the body of an earlier long answer from its facts.
    """
    with transaction.atomic():
        kept = begin_once(call, now=timezone.now())
        if kept is not None:
            prove()
            return _replayed(kept, replay)
        first = work()
        if first.status_code < HTTPStatus.BAD_REQUEST:
            keep_answer(call, _kept(first))
    return first


def _kept(answer: HttpResponseBase) -> KeptAnswer:
    headers = {name: value for name, value in answer.items() if name != "Content-Type"}
    if isinstance(answer, LongAnswer):
        return KeptAnswer(status=answer.status_code, headers=headers, facts=answer.facts)
    return KeptAnswer(status=answer.status_code, headers=headers, body=json.dumps(cast("JsonAnswer", answer).body))


def _replayed(kept: KeptAnswer, replay: Callable[[Mapping[str, Any]], Iterator[str]] | None) -> HttpResponseBase:
    answer: HttpResponseBase
    if kept.facts is not None and replay is not None:
        answer = long_answer(replay(kept.facts), facts=kept.facts, status=kept.status)
    else:
        answer = JsonAnswer(json.loads(kept.body or "null"), status=kept.status)
    for name, value in kept.headers.items():
        answer[name] = value
    answer["Idempotency-Replayed"] = "true"
    return answer
