"""Whatever pages and servers say of people, in any order: everybody has what was done under their names."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from customers.erasure import erase_customer
from customers.models import Alias, Customer, Event
from journeys.engine.jobs.states import job_state
from tests.support.bridge_calls import SEEN, click, identify
from tests.support.calls import customers_path, data, let_workers_walk, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.examples import examples
from tests.support.factories import ApiKeyFactory, AppFactory, JourneyFactory, WorkspaceFactory
from tests.support.tables import empty_all

ANONYMOUS, NAMES = ["anon-1", "anon-2", "anon-3"], ["ada", "grace"]
WAIT = [{"id": "wait", "type": "delay", "for": "P1D"}]
anonymous_ids, names = st.sampled_from(ANONYMOUS), st.sampled_from(NAMES)


@dataclass(eq=False)
class Person:
    """`own` is their userId, a claim; `aliases` lead to them."""

    name: str | None = None
    own: str | None = None
    aliases: set[str] = field(default_factory=set)
    events: int = 0
    jobs: list[str] = field(default_factory=list)


class Identities(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        empty_all()
        self.workspace = WorkspaceFactory.create()
        self.server = ServerClient(ApiKeyFactory.create(workspace=self.workspace))
        self.sdk = SdkClient(AppFactory.create(workspace=self.workspace))
        self.journey = JourneyFactory.create(workspace=self.workspace, steps=WAIT, max_entries_per_customer=2)
        self.people: list[Person] = []
        self.erased: set[str] = set()
        self.anybody_erased = False

    def _behind(self, anonymous_id: str) -> Person | None:
        own = [one for one in self.people if one.own == anonymous_id]
        return next(iter(own or [one for one in self.people if anonymous_id in one.aliases]), None)

    def _called(self, name: str) -> Person | None:
        return next((one for one in self.people if one.name == name), None)

    def _new(self, *, name: str | None = None, own: str | None = None) -> Person:
        self.people.append(Person(name=name, own=own))
        return self.people[-1]

    @rule(anonymous_id=anonymous_ids)
    def click(self, anonymous_id: str) -> None:
        person = self._behind(anonymous_id)
        refused = person is None and anonymous_id in self.erased
        assert click(self.sdk, userId=anonymous_id, **SEEN).status_code == (410 if refused else 200)
        if not refused:
            (person or self._new(own=anonymous_id)).events += 1

    @rule(anonymous_id=anonymous_ids, name=names)
    def identify(self, anonymous_id: str, name: str) -> None:
        status = identify(self.sdk, user_id=anonymous_id, external_id=name).status_code
        assert status == self._identified(anonymous_id, name)

    def _identified(self, anonymous_id: str, name: str) -> int:
        holder, known = self._behind(anonymous_id), self._called(name)
        if known is None and (name in self.erased or (holder is None and anonymous_id in self.erased)):
            return 409 if holder and holder.name else 410
        if holder is None and anonymous_id in self.erased:
            return 200
        if holder is None and known is None:
            self._new(name=name, own=anonymous_id).aliases.add(anonymous_id)
        elif holder is None and known is not None:
            known.aliases.add(anonymous_id)
        elif holder is not None and holder.name is None and known is None:
            holder.name = name
            holder.aliases.add(anonymous_id)
        elif holder is not None and holder.name is None and known is not None:
            self.people.remove(holder)
            known.aliases.add(anonymous_id)
            known.events += holder.events
            known.jobs += holder.jobs
        return 200 if holder in {None, known} or holder.name in {None, name} else 409

    @rule(name=names)
    def put(self, name: str) -> None:
        person = self._called(name)
        answer = self.server.put(customers_path(self.workspace), {"external_id": name})
        assert answer.status_code == (200 if person else 201)
        self.erased.discard(name)
        if person is None:
            self._new(name=name)

    @rule(name=names)
    def report(self, name: str) -> None:
        person = self._called(name)
        event = {"external_id": name, "eventName": "bought"}
        answer = self.server.post(customers_path(self.workspace, "events"), event)
        assert answer.status_code == (202 if person else 404)
        if person:
            person.events += 1

    @rule(places=st.sets(st.integers(0, 4)))
    def trigger(self, places: set[int]) -> None:
        for place, (person, customer) in enumerate(self._everybody()):
            if place in places:
                person.jobs.append(data(trigger(self.server, self.journey, {"customerId": customer.id}))["jobId"])

    @rule()
    def work(self) -> None:
        let_workers_walk()

    @rule(name=names)
    def erase(self, name: str) -> None:
        if person := self._called(name):
            customer = Customer.objects.get(external_id=name)
            erase_customer(workspace_id=self.workspace.id, customer_id=customer.id)
            self.people.remove(person)
            self.anybody_erased = True
            self.erased |= person.aliases | {name} | ({person.own} if person.own else set())

    def _everybody(self) -> Iterator[tuple[Person, Customer]]:
        for person in self.people:
            known = {"external_id": person.name} if person.name else {"user_id": person.own}
            yield person, Customer.objects.get(**known)

    @invariant()
    def everybody_has_what_is_theirs(self) -> None:
        assert Customer.objects.count() == len(self.people)
        for person, customer in self._everybody():
            assert (customer.external_id, customer.user_id) == (person.name, person.own)
            assert set(Alias.objects.filter(customer=customer).values_list("user_id", flat=True)) == person.aliases
            assert Event.objects.filter(customer=customer).count() == person.events
            told = [job_state(workspace_id=self.workspace.id, job_id=job) for job in person.jobs]
            assert [(job.job_id, job.customer_id) for job in told] == [(job, customer.id) for job in person.jobs]
        assert Event.objects.count() == sum(person.events for person in self.people)

    def teardown(self) -> None:
        let_workers_walk()
        if not self.anybody_erased:  # the history goes then, and the counts stay
            assert counted(self.journey) == counted_by_history(self.journey.id)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_everybody_has_what_was_done_under_their_names() -> None:
    run_state_machine_as_test(
        Identities,
        settings=examples(8, stateful_step_count=25),
    )
