"""Open pages as witnesses: no delivery of a journey is lost, none is shown once it was closed, and none ends twice."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from tests.chaos.fleet import Member
from tests.chaos.load import exchange
from tests.chaos.tenants import CUSTOMERS, MESSAGE, Tenant

if TYPE_CHECKING:
    from tests.chaos.service import Service

_PER_TENANT = 2
_SECONDS_BETWEEN = 0.05
_DONE: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("shown", {}),
    ("action", {"actionType": "close"}),
    ("action", {"actionType": "track_event", "actionData": {"eventName": "clicked"}}),
)

_LOST = """
SELECT coalesce(run.enrollment_id, delivery.enrollment_id), run.id IS NULL
FROM (SELECT * FROM journeys_steprun WHERE type = 'in_app' AND state = 'done') AS run
FULL JOIN journeys_inappdelivery delivery ON delivery.enrollment_id = run.enrollment_id
    AND delivery.ordinal = run.ordinal
WHERE run.id IS NULL OR delivery.id IS NULL
"""
# What each delivery's row says has happened to it, and what its events say.
_TOLD_OTHERWISE = """
SELECT id, name, sum(number) FROM (
    SELECT id, 'in_app.shown' AS name, 1 AS number FROM journeys_inappdelivery WHERE shown_at IS NOT NULL
    UNION ALL
    SELECT id, 'in_app.' || state, 1 FROM journeys_inappdelivery WHERE state IN ('acted', 'closed', 'expired')
    UNION ALL
    SELECT properties ->> 'deliveryId', name, -1 FROM customers_event WHERE name LIKE 'in_app.%%'
) AS both_of
GROUP BY id, name HAVING sum(number) <> 0
"""
_OVER = "SELECT id FROM journeys_inappdelivery WHERE id = ANY(%s) AND ended_at IS NULL AND expires_at > now()"


class OpenPage(Thread):
    """Shows one person after another what is due for them, and clicks or closes some of it, for as long as it may."""

    def __init__(self, tenant: Tenant, *, webs: Sequence[Member], number: int) -> None:
        super().__init__(name=f"page {number} of {tenant.name}")
        self.over, self.ended, self.shown_again = Event(), dict[str, float](), list[str]()
        self.told = 0
        self._tenant, self._webs, self._chance = tenant, webs, random.Random(number)

    def run(self) -> None:
        while not self.over.wait(_SECONDS_BETWEEN):
            person = {"external_id": f"c-{self._chance.randrange(CUSTOMERS)}"}
            began = time.monotonic()
            answer = self._post("messages", person)
            for one in answer.get("messages", ()):
                self.told += 1
                if self.ended.get(one["deliveryId"], began) < began:
                    self.shown_again.append(one["deliveryId"])
                self._do(one["deliveryId"], person)

    def _do(self, delivery_id: str, person: Mapping[str, str]) -> None:
        named = {**person, "messageId": MESSAGE, "deliveryId": delivery_id}
        call, more = self._chance.choice(_DONE)
        if self._post(f"bridge/{call}", {**named, **more}) and call == "action":
            self.ended.setdefault(delivery_id, time.monotonic())

    def _post(self, call: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer's data; empty without a success."""
        headers = {"X-App-Id": self._tenant.app, "Content-Type": "application/json"}
        web = self._chance.choice(self._webs)
        status, said = exchange(web, "POST", f"/api/v1/sdk/{call}", headers, json.dumps(body).encode())
        try:
            return dict(json.loads(said)["data"]) if status == 200 else {}
        except (ValueError, KeyError):
            return {}


@contextmanager
def open_pages(tenants: Mapping[str, Tenant], *, webs: Sequence[Member]) -> Iterator[list[OpenPage]]:
    """Pages of all tenants, until the end of the block."""
    pages = [OpenPage(tenant, webs=webs, number=number) for tenant in tenants.values() for number in range(_PER_TENANT)]
    for page in pages:
        page.start()
    try:
        yield pages
    finally:
        for page in pages:
            page.over.set()
        for page in pages:
            page.join()


def deliveries_are_there_once_and_over_for_good(service: "Service") -> Iterator[str]:
    """The version before makes none, and a page that has not begun has seen none."""
    for enrollment, is_unasked in service.ask(_LOST):
        yield f"{enrollment} has {'a delivery without its step' if is_unasked else 'a step without its delivery'}"
    for delivery, name, number in service.ask(_TOLD_OTHERWISE):
        yield f"{name} of {delivery} was recorded {-number:+} times more often than its row says"
    for page in service.pages:
        for delivery in page.shown_again:
            yield f"the {page.name} was shown {delivery}, which it had ended"
        for (delivery,) in service.ask(_OVER, list(page.ended)):
            yield f"the {page.name} has ended {delivery}, which is not over"
