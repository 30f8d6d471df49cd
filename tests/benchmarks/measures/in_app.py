"""In-app messages: fetching them beside an action that closes one, walking beside webhooks, and open pages."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.load import Load, load, load_of
from tests.benchmarks.measures.bridge import act
from tests.benchmarks.measures.single import trigger
from tests.benchmarks.measures.walking import EVERYBODY, NUMBER, fill, walk
from tests.benchmarks.processor import spent_by
from tests.benchmarks.service import CUSTOMERS, Effort, Service, call

_PAGES, _EVERY = 2_000, 60  # open pages, and the seconds after which each asks again
_TAGS = 500  # people of whom a page has already what is due
_KEPT_OPEN = 6_000  # people whose messages nobody closes
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
    """In turn: actions that close something, and fetches of what is due, is there already, and of nothing."""
    url, headers = _asked(service, seeded)
    known = [{"external_id": f"user-{n}"} for n in range(_TAGS)]
    kept = [json.dumps({**one, "etag": _tag_of(service, seeded, one)}) for one in known]
    empty = _tag_of(service, seeded, {"external_id": "nobody"})
    none = json.dumps({"external_id": "user-{n}", "etag": empty}).replace("user-{n}", f"user-{NUMBER}{{n}}")
    due, seconds = '{"external_id":"user-{n}"}', effort.seconds
    closing = _closing(service, seeded, effort.rounds)
    action = f"{service.base}/api/v1/sdk/bridge/action"
    works: dict[str, Callable[[], Load]] = {
        "close": lambda: act(service, "close", seconds=seconds),
        "close what was delivered": lambda: load_of(action, headers=headers, bodies=next(closing), seconds=seconds),
        "news": lambda: load(url, headers=headers, body=due, customers=_KEPT_OPEN, seconds=seconds),
        "none": lambda: load(url, headers=headers, body=none, customers=CUSTOMERS, seconds=seconds),
        "unchanged": lambda: load_of(url, headers=headers, bodies=kept, seconds=seconds),
    }
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(effort.rounds):
        for name, work in works.items():
            seen[name].append(_cost(service, work))
    costs = {name: middle([cost for cost, _ in those]) for name, those in seen.items()}
    closes = {name: costs.pop(name) for name in list(costs) if name.startswith("close")}
    return [
        Figure(
            measure=f"processor time of a fetch of in-app messages, {name}", value=cost, unit="ms",
            beside=f"a bridge action, {close}", beside_value=of_close, ratio=cost / of_close,
            at_most=None if name == "news" else 0.5, notes={"/s": middle([rate for _, rate in seen[name]])},
        )
        for name, cost in costs.items()
        for close, of_close in closes.items()
    ]  # fmt: skip


def _closing(service: Service, seeded: dict[str, Any], rounds: int) -> Iterator[list[str]]:
    """For each round, bodies of actions that close a delivery each; those of the first _KEPT_OPEN customers stay."""
    due = service.connection.execute(
        "SELECT delivery.id, customer.external_id FROM journeys_inappdelivery delivery"
        " JOIN customers_customer customer ON customer.id = delivery.customer_id"
        " WHERE delivery.workspace_id = %s AND substr(customer.external_id, 6)::int >= %s",
        [seeded["workspaceId"], _KEPT_OPEN],
    ).fetchall()
    bodies = [
        json.dumps({"messageId": "offer", "deliveryId": delivery, "external_id": whose, "actionType": "close"})
        for delivery, whose in due
    ]
    return iter([bodies[turn::rounds] for turn in range(rounds)])


def _cost(service: Service, work: Callable[[], Load]) -> tuple[float, float]:
    """Milliseconds that `web` and PostgreSQL take for a call, and calls per second."""
    seen, spent = spent_by(service, work)
    return sum(spent.by("web").values()) / seen.all_accepted().number * 1000, seen.per_second


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
