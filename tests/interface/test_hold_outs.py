"""`holdOut` of a journey: a share of those who might enter is left out for good, and counted beside those who enter."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from customers.erasure import erase_customer
from customers.models import Customer
from engage.models import Workspace
from journeys.engine.counts.stats import Span, journey_stats
from journeys.engine.merging import merge_journeys
from journeys.models import Draw, Enrollment, EnrollmentJob, Journey
from journeys.rules.hold_out import is_drawn
from tests.journeys.events.reporting import report
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.examples import examples
from tests.support.factories import PRO, CustomerFactory, JourneyFactory, crowd
from tests.support.tables import taken_back

BOUGHT = {"key": "bought", "event": "ordered", "within": "P7D"}
NEARLY_ALL, HALF, HARDLY_ANYBODY = {"share": 1 - 1e-9}, {"share": 0.5}, {"share": 1e-9}
REASON = "The customer met the entry rules, and is held out of the journey."


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, key="spring", goals=[BOUGHT], max_entries_per_customer=1000)


def hold_out(journey: Journey, share: dict[str, float] | None) -> None:
    Journey.objects.filter(id=journey.id).update(hold_out=share)


def decided(server: ServerClient, journey: Journey, names: list[str]) -> list[str]:
    """How the next jobs of these customers are decided, in their order; a dry run says the same before."""
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger"
    would = data(server.post(f"{path}?dryRun=true", {"external_ids": names}), status=200)["customers"]
    sent = data(server.post(path, {"external_ids": names}))["triggerId"]
    let_workers_decide()
    results = list(EnrollmentJob.objects.filter(trigger=sent).order_by("ordinal").values_list("result", flat=True))
    assert [one["result"] for one in would] == results
    return results


def test_a_share_is_left_out_and_stays_so_whatever_the_share_is_later(
    server: ServerClient, journey: Journey, acme: Workspace
) -> None:
    names = crowd(acme, 400)
    hold_out(journey, HALF)
    first = decided(server, journey, names[:300])
    assert 110 < first.count("held_out") < 190
    assert Enrollment.objects.count() == first.count("enrolled") == 300 - first.count("held_out")
    for share in (NEARLY_ALL, HARDLY_ANYBODY):
        hold_out(journey, share)
        assert decided(server, journey, names[:300]) == first
    assert decided(server, journey, names[300:]) == ["enrolled"] * 100
    hold_out(journey, None)
    assert decided(server, journey, names) == ["enrolled"] * 400
    assert Draw.objects.filter(held_out=True).count() == first.count("held_out")


def test_the_entry_rules_come_first_and_a_held_out_job_tells_why(
    server: ServerClient, journey: Journey, ada: Customer
) -> None:
    hold_out(journey, NEARLY_ALL)
    Journey.objects.filter(id=journey.id).update(entry_conditions=PRO)
    assert decided(server, journey, ["ada"]) == ["conditions_not_met"]
    assert not Draw.objects.exists()
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "pro"})
    told = data(trigger(server, journey, {"customerId": ada.id}))
    let_workers_decide()
    job = data(server.get(f"/api/v1/journeys/{ada.workspace_id}/jobs/{told['jobId']}"), status=200)
    assert (job["result"], job["reason"], job.get("enrollmentId")) == ("held_out", REASON, None)
    assert not Enrollment.objects.exists()


def test_who_entered_before_is_in(server: ServerClient, journey: Journey, ada: Customer) -> None:
    assert decided(server, journey, ["ada"]) == ["enrolled"]
    hold_out(journey, NEARLY_ALL)
    assert decided(server, journey, ["ada"]) == ["enrolled"]


def test_each_decision_counts_for_the_goals_from_its_time(
    server: ServerClient, journey: Journey, ada: Customer, acme: Workspace
) -> None:
    hold_out(journey, NEARLY_ALL)
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/stats"
    report(server, ada)
    decided(server, journey, ["ada"])
    time_passes(days=6)
    decided(server, journey, ["ada"])
    time_passes(days=2)
    for _ in range(2):
        report(server, ada)
        told = data(server.get(path), status=200)
        assert told["goals"] == [{"key": "bought", "count": 0, "byStep": {}, "byPath": [], "heldOut": 1}]
        assert told["entries"] == {"held_out": 2}
    assert counted(journey) == counted_by_history(journey.id)


def test_another_tenant_draws_its_own_and_an_erasure_forgets(
    server: ServerClient, rival_server: ServerClient, rival: Workspace, journey: Journey, ada: Customer
) -> None:
    theirs = JourneyFactory.create(workspace=rival, hold_out=HARDLY_ANYBODY)
    CustomerFactory.create(workspace=rival, external_id="ada")
    hold_out(journey, NEARLY_ALL)
    assert decided(server, journey, ["ada"]) == ["held_out"]
    assert decided(rival_server, theirs, ["ada"]) == ["enrolled"]
    erase_customer(workspace_id=ada.workspace_id, customer_id=ada.id)
    assert Draw.objects.get().workspace_id == rival.id


@each(
    "written, place, says",
    [
        (0.1, "holdOut", "must be an object"),
        ({}, "holdOut.share", "is required."),
        ({"share": 0}, "holdOut.share", "must be a number above 0 and below 1."),
        ({"share": 1}, "holdOut.share", "must be a number above 0 and below 1."),
        ({"share": True}, "holdOut.share", "must be a number, but a boolean came."),
        ({"share": "0.1"}, "holdOut.share", "must be a number, but a string came."),
        ({"share": 0.1, "of": 1}, "holdOut.of", "is not known; what may stand here is share."),
    ],
)
def test_mistakes_are_told_with_their_places(
    server: ServerClient, acme: Workspace, written: Any, place: str, says: str
) -> None:
    told = server.put("/api/v1/journeys/acme/new", {"holdOut": written}).json()
    assert [one["place"] for one in told["details"]] == [place]
    assert says in told["message"]
    assert not Journey.objects.exists()


def test_a_definition_keeps_it(server: ServerClient, acme: Workspace) -> None:
    answer = data(server.put("/api/v1/journeys/acme/new", {"holdOut": HALF}), status=201)
    assert answer["definition"]["holdOut"] == HALF
    assert Journey.objects.get().hold_out == HALF


class Drawing(RuleBasedStateMachine):
    """One journey whose share changes, and three customers, of whom one may be merged into another."""

    def __init__(self, server: ServerClient, journey: Journey) -> None:
        super().__init__()
        self.undone = taken_back()
        self.undone.__enter__()
        self.server, self.journey, self.share = server, journey, None
        self.ids = {
            name: CustomerFactory.create(workspace=journey.workspace, external_id=name).id
            for name in ("ada", "bob", "page")
        }
        self.drawn: dict[str, bool] = {}
        self.entered: set[str] = set()
        self.results: Counter[str] = Counter()
        self.reached: Counter[str] = Counter()
        self.waiting: list[tuple[str, str]] = []  # whose decisions have not been followed by the goal

    def teardown(self) -> None:
        self.undone.__exit__(None, None, None)

    @rule(share=st.sampled_from([None, NEARLY_ALL, HALF, HARDLY_ANYBODY]))
    def change_the_share(self, share: Any) -> None:
        hold_out(self.journey, share)
        self.share = share

    @rule(name=st.sampled_from(["ada", "bob", "page"]))
    def call(self, name: str) -> None:
        if name in self.ids:
            (result,) = decided(self.server, self.journey, [name])
            assert result == ("held_out" if self._is_out(name) else "enrolled")
            self.results[result] += 1
            self.waiting.append((name, result))
            if result == "enrolled":
                self.entered.add(name)

    def _is_out(self, name: str) -> bool:
        if self.share is None:
            return False
        if name not in self.drawn and name not in self.entered:
            self.drawn[name] = is_drawn(self.share["share"], journey_id=self.journey.id, customer_id=self.ids[name])
        return self.drawn.get(name, False)

    @rule(name=st.sampled_from(["ada", "bob", "page"]))
    def buy(self, name: str) -> None:
        if name in self.ids:
            report(self.server, Customer.objects.get(id=self.ids[name]))
            self.reached.update(result for whose, result in self.waiting if whose == name)
            self.waiting = [one for one in self.waiting if one[0] != name]

    @precondition(lambda self: "page" in self.ids)
    @rule(into=st.sampled_from(["ada", "bob"]))
    def merge(self, into: str) -> None:
        let_workers_walk()
        merge_journeys(workspace_id=self.journey.workspace_id, anonymous=self.ids["page"], into=self.ids[into])
        Customer.objects.filter(id=self.ids.pop("page")).delete()
        if into not in self.entered and into not in self.drawn and "page" in self.drawn:
            self.drawn[into] = self.drawn["page"]
        if "page" in self.entered:
            self.entered.add(into)
        self.waiting = [(into if whose == "page" else whose, result) for whose, result in self.waiting]

    @invariant()
    def what_is_counted_is_the_model_s(self) -> None:
        stats = journey_stats(self.journey, Span())
        assert stats.entries == self.results
        assert (stats.goals[0].count, stats.goals[0].held_out) == (self.reached["enrolled"], self.reached["held_out"])


@pytest.mark.slow
def test_in_whatever_order_who_was_decided_stays_so(server: ServerClient, journey: Journey) -> None:
    machine: Any = lambda: Drawing(server, journey)  # noqa: E731 (typed as a class, and called as a function)
    run_state_machine_as_test(machine, settings=examples(30, stateful_step_count=15))
