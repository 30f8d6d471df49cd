"""Sends a plan's calls at their moments, and notes what came back."""

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import Any

from tests.chaos.fleet import Member
from tests.chaos.plan import Planned
from tests.chaos.tenants import Tenant

_THREADS = 24
_PATIENCE = 25.0  # seconds for an answer
_AGAIN = 0.7  # seconds before a call with an Idempotency-Key is sent again
_MOST_SENDINGS = 12
LOST = 0  # the status of a call whose answer did not come
REFUSED = -1  # of one that no web server took


@dataclass(frozen=True, kw_only=True)
class Sending:
    """One sending of a call. `began` and `ended` are of the monotonic clock; `status` may be LOST or REFUSED."""

    call: Planned
    began: float
    ended: float
    status: int
    body: Any = None

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = self.body["data"]
        return data

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass
class Load:
    """Calls under way."""

    tenants: Mapping[str, Tenant]
    webs: Sequence[Member]
    sendings: list[Sending] = field(default_factory=list)
    _turn: "count[int]" = field(default_factory=count)

    def succeeded(self, *kinds: str) -> list[Sending]:
        return [sending for sending in self.sendings if sending.succeeded and sending.call.kind in kinds]

    def begin(self, calls: Sequence[Planned]) -> "Future[None]":
        """Sends in threads; done when the last answer has come."""
        director = ThreadPoolExecutor(1)
        done = director.submit(self._send_all, calls)
        director.shutdown(wait=False)
        return done

    def _send_all(self, calls: Sequence[Planned]) -> None:
        began = time.monotonic()
        with ThreadPoolExecutor(_THREADS) as pool:
            under_way = []
            for call in calls:
                time.sleep(max(0.0, began + call.at - time.monotonic()))
                under_way.append(pool.submit(self._send, call))
        for sent in under_way:
            sent.result()

    def _send(self, call: Planned) -> None:
        for _ in range(_MOST_SENDINGS):
            sending = self._send_once(call)
            self.sendings.append(sending)
            if not call.keyed or sending.status not in {LOST, REFUSED, 409, 503}:
                return
            time.sleep(_AGAIN)

    def _send_once(self, call: Planned) -> Sending:
        """At one web server; where it takes no connection, at the next one, as a proxy would do."""
        path, headers, body = _request(call, self.tenants)
        method = "PUT" if call.kind == "put" else "POST"
        began = time.monotonic()
        turn = next(self._turn)
        status, answer = REFUSED, None
        for place in range(len(self.webs)):
            web = self.webs[(turn + place) % len(self.webs)]
            status, said = exchange(web, method, path, headers, body)
            if status != REFUSED:
                status, answer = _read(status, said)
                break
        return Sending(call=call, began=began, ended=time.monotonic(), status=status, body=answer)


def exchange(web: Member, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> tuple[int, bytes]:
    """The status and the body of the answer; instead of the status LOST or REFUSED."""
    connection = HTTPConnection(web.host, web.port, timeout=_PATIENCE)
    try:
        connection.connect()
    except OSError:
        return REFUSED, b""
    try:
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, HTTPException):
        return LOST, b""
    finally:
        connection.close()


def _read(status: int, said: bytes) -> tuple[int, Any]:
    try:
        return status, json.loads(said) if said else None
    except ValueError:
        return LOST, None


def _request(call: Planned, tenants: Mapping[str, Tenant]) -> tuple[str, dict[str, str], bytes]:
    tenant = tenants[call.tenant]
    own = {"Content-Type": "application/json", "X-Request-Id": call.name}
    if call.keyed:
        own["Idempotency-Key"] = call.name
    server, sdk = {**own, "Authorization": f"Bearer {tenant.key}"}, {**own, "X-App-Id": tenant.app}
    path, body = _spoken(call, tenants)
    return path, sdk if path.startswith("/api/v1/sdk/") else server, json.dumps(body).encode()


def _spoken(call: Planned, tenants: Mapping[str, Tenant]) -> tuple[str, dict[str, Any]]:
    tenant, words = tenants[call.tenant], call.words
    trigger = f"/api/v1/journeys/{tenant.workspace}/{tenant.journeys[call.journey]}/trigger"
    payload = {"payload": {"coupon": words["coupon"]}}
    known_by = words.get("known_by") or {"external_id": call.customers[0]}
    message = {"messageId": call.name, **known_by}
    customers = f"/api/v1/customers/{tenant.workspace}"
    match call.kind:
        case "single":
            return trigger, {**known_by, **payload}
        case "bulk":
            return trigger, {"external_ids": list(call.customers), **payload}
        case "segment":
            segment = tenant.segments[words.get("segment", "first")]
            return trigger, {"segment_ids": [segment], "exclude_external_ids": ["c-1"], **payload}
        case "trespass":
            other = next(other for name, other in tenants.items() if name != call.tenant)
            theirs = f"/api/v1/journeys/{other.workspace}/{other.journeys[call.journey]}/trigger"
            return theirs, {"external_id": call.customers[0]}
        case "track":
            data = {"eventName": words["events"][0], "eventProperties": {"coupon": words["coupon"]}}
            return "/api/v1/sdk/bridge/action", {**message, "actionType": "track_event", "actionData": data}
        case "profile":
            data = {"profileAttributes": words.get("attributes") or {"seen": words["coupon"]}}
            return "/api/v1/sdk/bridge/action", {**message, "actionType": "update_profile", "actionData": data}
        case "newcomer":
            newcomer = {"messageId": call.name, "email": words["newcomer"]}
            return "/api/v1/sdk/bridge/capture", {**newcomer, "formData": {"coupon": str(words["coupon"])}}
        case "events":
            of_each = [words.get("known_by") or {"external_id": name} for name in call.customers]
            events = [{**known_by, "eventName": event} for known_by in of_each for event in words["events"]]
            return f"{customers}/events", {"events": events}
        case _:
            return _of_people(call, customers, known_by)


def _of_people(call: Planned, customers: str, known_by: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    name = {"external_id": call.customers[0]}
    match call.kind:
        case "identify":
            return "/api/v1/sdk/identify", {**known_by, **name}
        case "merge":
            return f"{customers}/merge", {"anonymous": known_by, "into": name}
        case _:
            return customers, {**known_by, "attributes": call.words["attributes"]}
