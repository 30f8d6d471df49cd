"""In-app messages: fetching them beside an action that closes one, walking beside webhooks, and open pages."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.load import load, load_of
from tests.benchmarks.measures.bridge import act
from tests.benchmarks.measures.single import trigger
from tests.benchmarks.measures.walking import EVERYBODY, NUMBER, fill, walk
from tests.benchmarks.service import CUSTOMERS, Effort, Service, call

_PAGES, _EVERY = 2_000, 60  # open pages, and the seconds after which each asks again
_TAGS = 500  # people of whom a page has already what is due
_DAY = {"id": "day", "type": "delay", "for": "P1D"}
_STEPS: dict[str, list[dict[str, Any]]] = {
    "in_app": [_DAY, {"id": "offer", "type": "in_app", "message": "offer", "values": {"n": 1}}],
    "webhook": [_DAY, {"id": "call", "type": "webhook", "url": "https://shop.example/", "body": {"n": 1}}],
}
_CONTENT = {
    "kind": "banner", "title": "Hello {{ customer.external_id }}", "text": "Your coupon is {{ values.n }}.",
    "buttons": [{"action": "close", "text": "Later"}],
}  # fmt: skip


def measure(service: Service, effort: Effort) -> list[Figure]:
    """Everybody has one delivery, which walking has made, before any is fetched."""
    seeded = service.seed(
        {
            "workspace": {"key": "pages", "name": "Pages"},
            "apiKeys": [{"name": "server", "rateLimit": "10000000/m"}],
            "apps": [{"name": "web", "allowedOrigins": [], "inApp": "open"}],
            "segments": [{"key": "all", "name": "All", "conditions": EVERYBODY}],
            "messages": [{"key": "offer", "status": "active", "content": _CONTENT}],
            "journeys": [
                {"key": kind, "name": kind, "trigger": "api", "steps": steps} for kind, steps in _STEPS.items()
            ],
        },
        customers=NUMBER,
    )  # fmt: skip
    return [_walked(service, seeded), *_fetched(service, seeded, effort), _beside_pages(service, seeded, effort)]


def _walked(service: Service, seeded: dict[str, Any]) -> Figure:
    rates = {}
    with _nothing_sent(service):
        for kind in ("webhook", "in_app"):
            journey = seeded["journeys"][kind]
            fill(service, seeded, journey)
            rates[kind] = NUMBER / walk(service, journey)
        aborted = f"/api/v1/journeys/{seeded['workspaceId']}/{seeded['journeys']['webhook']}/abort"
        call(service.base + aborted, {"reason": "It is measured."}, key=seeded["apiKeys"]["server"])
    return Figure(
        measure=f"enrollments walked through a step in_app, {NUMBER:,} due at once", value=rates["in_app"], unit="/s",
        beside="a webhook in its place", beside_value=rates["webhook"], ratio=rates["in_app"] / rates["webhook"],
        at_least=0.8,
    )  # fmt: skip


@contextmanager
def _nothing_sent(service: Service) -> Iterator[None]:
    os.kill(service.pids["webhooks"], signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(service.pids["webhooks"], signal.SIGCONT)


def _fetched(service: Service, seeded: dict[str, Any], effort: Effort) -> list[Figure]:
    """In turn: an action that closes a message, and fetches of what is due, is there already, and of nothing."""
    url, headers = _asked(service, seeded)
    known = [{"external_id": f"user-{n}"} for n in range(_TAGS)]
    kept = [json.dumps({**one, "etag": _tag_of(service, seeded, one)}) for one in known]
    empty = _tag_of(service, seeded, {"external_id": "nobody"})
    none = json.dumps({"external_id": "user-{n}", "etag": empty}).replace("user-{n}", f"user-{NUMBER}{{n}}")
    seen: dict[str, list[float]] = {"close": [], "news": [], "unchanged": [], "none": []}
    for _ in range(effort.rounds):
        seen["close"].append(act(service, "close", seconds=effort.seconds))
        due = load(url, headers=headers, body='{"external_id":"user-{n}"}', customers=NUMBER, seconds=effort.seconds)
        nothing = load(url, headers=headers, body=none, customers=CUSTOMERS, seconds=effort.seconds)
        again = load_of(url, headers=headers, bodies=kept, seconds=effort.seconds)
        for name, one in (("news", due), ("none", nothing), ("unchanged", again)):
            seen[name].append(one.all_accepted().per_second)
    close = middle(seen.pop("close"))
    return [
        Figure(
            measure=f"fetches of in-app messages, {name}", value=middle(rates), unit="/s",
            beside="bridge actions, close", beside_value=close, ratio=middle(rates) / close,
            at_least=None if name == "news" else 2.0,
        )
        for name, rates in seen.items()
    ]  # fmt: skip


def _beside_pages(service: Service, seeded: dict[str, Any], effort: Effort) -> Figure:
    """In turn: triggers alone, and beside so many open pages."""
    alone, beside = [], []
    for _ in range(effort.rounds):
        alone.append(trigger(service, seconds=effort.seconds).per_second)
        with _open_pages(service, seeded) as answered:
            beside.append(trigger(service, seconds=effort.seconds).per_second)
        service.settle()
    return Figure(
        measure=f"single triggers beside {_PAGES:,} open pages that ask every {_EVERY} s", value=middle(beside),
        unit="/s", beside="with none", beside_value=middle(alone), ratio=middle(beside) / middle(alone), at_least=0.9,
        notes={"pages that asked": len(answered)},
    )  # fmt: skip


@contextmanager
def _open_pages(service: Service, seeded: dict[str, Any]) -> Iterator[list[int]]:
    """Pages that ask, each at its moment; the statuses of the answers. Raises AssertionError where one is refused."""
    over, answered = threading.Event(), list[int]()

    def ask() -> None:
        number, began = 0, time.monotonic()
        while not over.wait(max(0.0, began + number * _EVERY / _PAGES - time.monotonic())):
            answered.append(_ask(service, seeded, {"external_id": f"user-{number % NUMBER}"})[0])
            number += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answered
    finally:
        over.set()
        thread.join()
    assert set(answered) == {200}


def _tag_of(service: Service, seeded: dict[str, Any], person: dict[str, str]) -> str:
    return _ask(service, seeded, person)[1]


def _ask(service: Service, seeded: dict[str, Any], person: dict[str, str]) -> tuple[int, str]:
    """The status and the `ETag` of the answer."""
    url, headers = _asked(service, seeded)
    connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request("POST", urlsplit(url).path, json.dumps(person), headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers["ETag"] or ""


def _asked(service: Service, seeded: dict[str, Any]) -> tuple[str, dict[str, str]]:
    headers = {"X-App-Id": seeded["apps"]["web"], "Content-Type": "application/json"}
    return f"{service.base}/api/v1/sdk/messages", headers
