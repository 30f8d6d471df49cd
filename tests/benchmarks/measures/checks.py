"""What an app's checks cost: bridge events with an identity token, or by their message's definition, beside neither."""

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from itertools import count, islice
from statistics import quantiles
from typing import Any

import jwt

from tests.benchmarks.figures import Figure
from tests.benchmarks.load import load_of
from tests.benchmarks.service import Effort, Service

_PLAIN, _FRESH = "with neither", "with a token not seen before"
_PEOPLE = 200
_MOST_A_SECOND = 5_000  # more than a view that does nothing answers
_SECRET = "a-secret-of-at-least-thirty-two-bytes"
_MESSAGE = "spring-sale"
_PROPERTIES = {"place": "top"}
_EVENT = {"actionType": "track_event", "actionData": {"eventName": "banner_clicked", "eventProperties": _PROPERTIES}}
_BY_ID = {"actionId": "cta", "actionData": {"eventProperties": _PROPERTIES}}
_LISTED = {
    "id": "cta",
    "type": "track_event",
    "eventName": "banner_clicked",
    "properties": {"place": {"type": "string", "max": 20}},
}
_SEED = {
    "workspace": {"key": "checks", "name": "Checks"},
    "apps": [
        {"name": "open"},
        {"name": "proving", "identity": "enforce", "identityKeys": [{"kid": "k1", "alg": "HS256", "secret": _SECRET}]},
        {"name": "strict", "messagePolicy": "enforce"},
    ],
    "messages": [{"key": _MESSAGE, "status": "active", "actions": [_LISTED], "forms": []}],
}


def measure(service: Service, effort: Effort) -> list[Figure]:
    """In turn, a second each: events with neither, with a token, and by their definition, of the same people.

    Each turn begins with another kind.

    Of the same calls, the machine does half as many in one second as in another. What counts is what a kind of call
    reaches in its faster seconds: ratios of upper quartiles differ less from run to run than those of medians do.
    """
    apps = service.seed(_SEED, customers=_PEOPLE)["apps"]
    plain, by_id = ([_body(n, event) for n in range(_PEOPLE)] for event in (_EVENT, _BY_ID))
    known, fresh = [_with_token(n) for n in range(_PEOPLE)], map(_with_token, count(_PEOPLE))
    calls: Mapping[str, tuple[str, Callable[[], list[str]]]] = {
        _PLAIN: (apps["open"], lambda: plain),
        "with the token of a person": (apps["proving"], lambda: known),
        _FRESH: (apps["proving"], lambda: list(islice(fresh, _MOST_A_SECOND))),
        "by a definition": (apps["strict"], lambda: by_id),
    }
    url, seen = f"{service.base}/api/v1/sdk/bridge/action", {kind: list[float]() for kind in calls}
    turn = deque(calls.items())
    for _ in range(1 + effort.rounds * effort.seconds):  # the first one warms up
        for kind, (app, bodies) in turn:
            headers = {**service.sdk_headers, "X-App-Id": app}
            second = load_of(url, headers=headers, bodies=bodies(), seconds=1).all_accepted()
            seen[kind].append(second.per_second)
        turn.rotate(-1)
    reached = {kind: quantiles(figures, n=4)[-1] for kind, figures in seen.items()}
    base = reached.pop(_PLAIN)
    return [
        Figure(
            measure=f"bridge events {kind}", value=value, unit="/s", beside=_PLAIN, beside_value=base,
            ratio=value / base, at_least=None if kind == _FRESH else 0.9,
        )
        for kind, value in reached.items()
    ]  # fmt: skip


def _body(n: int, event: Mapping[str, Any]) -> str:
    return json.dumps({"external_id": f"user-{n % _PEOPLE}", "messageId": _MESSAGE, **event})


def _with_token(n: int) -> str:
    """The n-th token, where the SDK puts it; those of one person differ from each other."""
    claims = {"sub": f"user-{n % _PEOPLE}", "exp": int(time.time()) + 12 * 3600, "jti": str(n)}
    token = jwt.encode(claims, _SECRET, algorithm="HS256", headers={"kid": "k1"})
    return _body(n, {**_EVENT, "identityToken": token})
