"""Whatever happens to deliveries, in whatever order: a model of their states says what is due and what was recorded."""

import math
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from bridge.in_app.due import due_for
from bridge.in_app.readers import Reader
from customers.erasure import erase_customer
from customers.identity.identifiers import identifiers
from customers.models import Event
from journeys.engine.enrollments.withdrawing import withdraw_of_exited, withdraw_of_journey
from journeys.engine.in_app.expiring import expire
from journeys.engine.in_app.transitions import DeliveryNotFound, Done, State, advance
from journeys.engine.in_app.withdrawing import withdraw
from journeys.engine.merging import merge_journeys
from journeys.engine.walking.reactions import record_and_react
from journeys.models import InAppDelivery
from tests.bridge.in_app.deliveries import KEY, deliver, offer
from tests.support.examples import examples
from tests.support.factories import CustomerFactory, WorkspaceFactory
from tests.support.tables import empty_all

NUMBERS = st.integers(0, 3)
LIVE = {"due", "shown"}


class Lives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        empty_all()
        self.workspace = WorkspaceFactory.create()
        offer(self.workspace)
        self.owner, self.other = (CustomerFactory.create(workspace=self.workspace) for _ in range(2))
        self.is_merged = False
        self.made = [
            deliver(self.owner, withdraw_on_exit=number % 2 == 0, journey_id=str(number) * 24) for number in range(4)
        ]
        self.states = {one.id: "due" for one in self.made}
        self.told: Counter[tuple[str, str]] = Counter()

    def _is_live(self, number: int) -> bool:
        return self.states.get(self.made[number].id) in LIVE

    def _end(self, number: int, state: str) -> None:
        if self._is_live(number):
            self.states[self.made[number].id] = state

    def _do(self, number: int, to: InAppDelivery.State) -> None:
        done = Done(delivery_id=self.made[number].id, message_id=KEY, to=to)
        if events := advance(done, workspace_id=self.workspace.id, customer_id=self.owner.id):
            record_and_react(events)

    @precondition(lambda self: self.states)
    @rule(number=NUMBERS, to=st.sampled_from([State.SHOWN, State.ACTED, State.CLOSED]))
    def people_act(self, number: int, to: InAppDelivery.State) -> None:
        one, was_live = self.made[number].id, self._is_live(number)
        self._do(number, to)
        if was_live:
            self.states[one] = to.value
            self.told[one, "shown"] = self.told[one, to.value] = 1

    @precondition(lambda self: self.states and not self.is_merged)
    @rule(number=NUMBERS)
    def somebody_else_acts(self, number: int) -> None:
        self.owner, self.other = self.other, self.owner
        with pytest.raises(DeliveryNotFound):
            self._do(number, State.ACTED)
        self.owner, self.other = self.other, self.owner

    @rule(number=NUMBERS)
    def it_expires(self, number: int) -> None:
        past = timezone.now() - timedelta(hours=1)
        InAppDelivery.objects.filter(id=self.made[number].id, ended_at=None).update(expires_at=past)
        expire(seconds=1)
        if self._is_live(number):
            self.told[self.made[number].id, "expired"] = 1
        self._end(number, "expired")

    @rule(number=NUMBERS)
    def its_enrollment_exits(self, number: int) -> None:
        withdraw_of_exited([self.made[number].enrollment_id])
        if self.made[number].withdraw_on_exit:
            self._end(number, "withdrawn")

    @rule(number=NUMBERS)
    def its_journey_is_aborted(self, number: int) -> None:
        withdraw_of_journey(self.made[number].journey_id, because="x", until=math.inf)
        self._end(number, "withdrawn")

    @rule(number=NUMBERS)
    def staff_withdraw_it(self, number: int) -> None:
        assert withdraw(self.made[number], by="root") == self._is_live(number)
        self._end(number, "withdrawn")

    @precondition(lambda self: not self.is_merged)
    @rule()
    def they_are_merged(self) -> None:
        merge_journeys(workspace_id=self.workspace.id, anonymous=self.owner.id, into=self.other.id)
        Event.objects.update(customer=self.other)
        self.owner, self.is_merged = self.other, True

    @precondition(lambda self: self.is_merged)
    @rule()
    def they_are_erased(self) -> None:
        if self.states:
            erase_customer(workspace_id=self.workspace.id, customer_id=self.owner.id)
        self.states, self.told = {}, Counter()

    @invariant()
    def what_is_stored_due_and_told_is_the_models(self) -> None:
        assert dict(InAppDelivery.objects.values_list("id", "state")) == self.states
        reader = Reader(workspace_id=self.workspace.id, known_by=identifiers(external_id=self.owner.external_id))
        due = {one.delivery_id for one in due_for(reader).deliveries or ()}
        assert due == {delivery_id for delivery_id, state in self.states.items() if state in LIVE}
        events = Event.objects.values_list("properties", "name")
        assert Counter((said["deliveryId"], name.removeprefix("in_app.")) for said, name in events) == self.told


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_whatever_happens_what_is_over_never_comes_back() -> None:
    run_state_machine_as_test(
        Lives,
        settings=examples(20, stateful_step_count=15),
    )
