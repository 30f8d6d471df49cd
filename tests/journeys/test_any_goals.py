"""Whatever happens to customers with goals, in whatever order: a plain model says what is counted."""

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from hypothesis.strategies import booleans, integers, lists, sampled_from

from customers.models import Customer
from journeys.engine.counts.counting import fold
from journeys.engine.counts.stats import Span, journey_stats
from journeys.models import Enrollment, Journey
from tests.support.bridge_calls import click
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted, every_moment_an_hour
from tests.support.examples import examples
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.tables import taken_back

GOALS: list[dict[str, Any]] = [
    {"key": "bought", "event": "ordered", "within": "P2D"},
    {
        "key": "much", "event": "ordered", "within": "P1D", "fromBridge": False,
        "where": {"field": "event.properties.total", "op": "gte", "value": 100},
    },
]  # fmt: skip
DAYS = {"bought": 2, "much": 1}
WAITS = {"field": "api.payload.waits", "op": "eq", "value": True}
STEPS: list[dict[str, Any]] = [
    {"id": "which", "type": "branch", "cases": [{"if": WAITS, "next": "day"}], "else": None},
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "halves", "type": "split", "paths": [{"weight": 1, "next": "note"}, {"weight": 2, "next": "note"}]},
    {"id": "note", "type": "update_profile", "attributes": {"noted": True}},
]
PEOPLE = ["page", "ada"]


@dataclass
class Entered:
    """An enrollment as the model knows it. `day` is how long it has stood at the wait; None: it has not come there."""

    owner: str
    waits: bool
    state: str = "active"
    age: int = 0
    day: int | None = None
    ways: list[str] = field(default_factory=list)
    reached: dict[str, list[str]] = field(default_factory=dict)

    def walk(self) -> None:
        if self.state != "active":
            return
        if self.day is None:
            self.ways = ["which", "which day", "day"] if self.waits else ["which", "which @completed"]
            self.state, self.day = "active" if self.waits else "completed", 0
        elif self.day:
            self.ways, self.state = [*self.ways, "halves", "halves note", "note"], "completed"

    def pass_a_day(self) -> None:
        self.age += 1
        self.day = None if self.day is None else self.day + 1

    def hear(self, totals: list[int], *, from_bridge: bool) -> None:
        for key in DAYS.keys() - self.reached.keys():
            wanted = key == "bought" or (not from_bridge and max(totals) >= 100)
            if wanted and self.age < DAYS[key]:
                self.reached[key] = ["", *self.ways]


class Goals(RuleBasedStateMachine):
    """One journey of Acme; a page's customer, who may turn out to be Ada, and Ada."""

    def __init__(self, server: ServerClient, sdk: SdkClient, journey: Journey) -> None:
        super().__init__()
        self.undone = ExitStack()
        self.undone.enter_context(taken_back())
        self.server, self.sdk, self.journey = server, sdk, journey
        self.people = {
            "page": CustomerFactory.create(workspace=journey.workspace, external_id=None, user_id="u-1"),
            "ada": CustomerFactory.create(workspace=journey.workspace, external_id="ada"),
        }
        self.entered: list[Entered] = []

    def teardown(self) -> None:
        self.undone.close()

    def _of(self, who: str) -> tuple[Customer, str]:
        """Whom this one is by now."""
        owner = who if self.people["page"].id != self.people["ada"].id else "ada"
        return self.people[who], owner

    @rule(who=sampled_from(PEOPLE), waits=booleans())
    def enter(self, who: str, waits: bool) -> None:
        customer, owner = self._of(who)
        data(trigger(self.server, self.journey, {"customerId": customer.id, "payload": {"waits": waits}}))
        let_workers_decide()
        for one in self.entered:
            if one.owner == owner and one.state == "active":
                one.state = "exited"
        self.entered.append(Entered(owner, waits))

    @rule()
    def walk(self) -> None:
        let_workers_walk()
        for one in self.entered:
            one.walk()

    @rule()
    def pass_a_day(self) -> None:
        time_passes(days=1, minutes=1)
        for one in self.entered:
            one.pass_a_day()

    @rule(who=sampled_from(PEOPLE), totals=lists(integers(99, 100), min_size=1, max_size=2))
    def report(self, who: str, totals: list[int]) -> None:
        customer, owner = self._of(who)
        events = [
            {"customerId": customer.id, "eventName": "ordered", "eventProperties": {"total": total}} for total in totals
        ]
        data(self.server.post(customers_path(self.journey.workspace, "events"), {"events": events}))
        self._hear(owner, totals, from_bridge=False)

    @rule()
    def click_on_a_page(self) -> None:
        tracked = {"eventName": "ordered", "eventProperties": {"total": 100}}
        data(click(self.sdk, userId="u-1", actionType="track_event", actionData=tracked), status=200)
        self._hear(self._of("page")[1], [100], from_bridge=True)

    def _hear(self, owner: str, totals: list[int], *, from_bridge: bool) -> None:
        for one in self.entered:
            if one.owner == owner:
                one.hear(totals, from_bridge=from_bridge)

    @precondition(lambda self: any(one.state == "active" for one in self.entered))
    @rule()
    def exit(self) -> None:
        first = Enrollment.objects.filter(state="active").order_by("job")[0]
        path = f"/api/v1/journeys/{self.journey.workspace_id}/enrollments/{first.id}/exit"
        data(self.server.post(path, {"reason": "Asked."}), status=200)
        next(one for one in self.entered if one.state == "active").state = "exited"

    @precondition(lambda self: self.people["page"].id != self.people["ada"].id)
    @rule()
    def merge(self) -> None:
        body = {"anonymous": {"userId": "u-1"}, "into": {"external_id": "ada"}}
        data(self.server.post(customers_path(self.journey.workspace, "merge"), body), status=200)
        self.people["page"] = self.people["ada"]
        both = [one for one in self.entered if one.state == "active"]
        for one in both:
            if one.owner == "page" and len(both) > 1:
                one.state = "exited"
        for one in self.entered:
            one.owner = "ada"

    @rule()
    def fold(self) -> None:
        fold()

    @invariant()
    def what_is_counted_is_the_model_s(self) -> None:
        told = {goal.key: goal for goal in journey_stats(self.journey, Span()).goals}
        assert list(told) == list(DAYS)
        for key, goal in told.items():
            numbers = Counter(what for one in self.entered for what in one.reached.get(key, ()))
            assert goal.count == numbers.pop("", 0)
            ways = {f"{one.source} {one.target}": one.count for one in goal.by_path}
            assert {**goal.by_step, **ways} == numbers
        assert counted(self.journey) == counted_by_history(self.journey.id)


@pytest.mark.slow
@pytest.mark.django_db
def test_whatever_happens_each_enrollment_is_counted_once_as_it_stood(
    server: ServerClient, sdk: SdkClient, acme: Any
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS, goals=GOALS, max_entries_per_customer=1000)
    machine: Any = lambda: Goals(server, sdk, journey)  # noqa: E731 (typed as a class, and called as a function)
    with every_moment_an_hour():
        run_state_machine_as_test(machine, settings=examples(40, stateful_step_count=20))
