"""Whatever strangers say of people, in any order: servers find what they would find if nobody had said anything.

All calls of servers are made in two workspaces. In one of them, strangers with the id of an app say what they like
before, between and after them.
"""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from customers.erasure import erase_customer
from customers.models import Customer
from tests.support.bridge_calls import ACTION, CAPTURE
from tests.support.calls import customers_path
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.examples import examples
from tests.support.factories import ApiKeyFactory, AppFactory, WorkspaceFactory
from tests.support.tables import empty_all

VALUES = {
    "userId": ["u-1", "u-2"],
    "external_id": ["ada", "eve"],
    "email": ["ada@example.com", "eve@evil.example"],
    "phone": ["+491701234567", "+491707654321"],
}
REMOVED = st.sets(st.sampled_from([*VALUES]), max_size=1)
FIELDS = {"userId": "user_id", "external_id": "external_id", "email": "email", "phone": "phone"}
SEEN: dict[str, Any] = {"messageId": "m", "actionType": "track_event", "actionData": {"eventName": "seen"}}


def named(*required: str) -> st.SearchStrategy[dict[str, str]]:
    each = {name: st.sampled_from(values) for name, values in VALUES.items()}
    return (
        st.fixed_dictionaries(
            {name: each[name] for name in required},
            optional={name: values for name, values in each.items() if name not in required},
        )
        .filter(lambda found: len(found) > len(required) or not required)
        .filter(bool)
    )


class Strangers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        empty_all()
        self.quiet, self.noisy = (
            ServerClient(ApiKeyFactory.create(workspace=WorkspaceFactory.create())) for _ in range(2)
        )
        self.stranger = SdkClient(AppFactory.create(workspace=self.noisy.key.workspace))
        self.written = 0
        self.ids: list[list[str]] = []

    # Servers ----------------------------------------------------------------------------------------------------------

    def _servers_call(self, *more: str, method: str = "post", bodies: list[dict[str, Any]]) -> list[Answer]:
        pair = zip((self.quiet, self.noisy), bodies, strict=True)
        answers = [getattr(one, method)(customers_path(one.key.workspace, *more), body) for one, body in pair]
        assert answers[0].status_code // 100 == answers[1].status_code // 100, [one.json() for one in answers]
        return answers

    @rule(known_by=named(), removed=REMOVED)
    def put(self, known_by: dict[str, str], removed: set[str]) -> None:
        self.written += 1
        body = {**known_by, "attributes": {"iban": self.written}, "remove": [*removed]}
        answers = self._servers_call(method="put", bodies=[body, body])
        if answers[0].succeeded:
            self.ids.append([one.json()["data"]["customerId"] for one in answers])

    @rule(items=st.lists(named(), min_size=2, max_size=3))
    def batch(self, items: list[dict[str, str]]) -> None:
        quiet, noisy = self._servers_call("batch", bodies=[{"customers": items}] * 2)
        failed = [[one["status"] == "failed" for one in done.json()["data"]["results"]] for done in (quiet, noisy)]
        assert failed[0] == failed[1]

    @rule(number=st.integers(0, 9), known_by=st.one_of(st.just({}), named()), removed=REMOVED)
    def put_by_id(self, number: int, known_by: dict[str, str], removed: set[str]) -> None:
        if number < len(self.ids):
            self.written += 1
            said = {**known_by, "attributes": {"plan": self.written}, "remove": [*removed]}
            self._servers_call(method="put", bodies=[{"customerId": one, **said} for one in self.ids[number]])

    @rule(user_id=st.sampled_from(VALUES["userId"]), external_id=st.sampled_from(VALUES["external_id"]))
    def merge(self, user_id: str, external_id: str) -> None:
        known = [
            Customer.objects.filter(workspace=one.key.workspace, external_id=external_id).exclude(
                claimed_identifiers__contains=["external_id"]
            )
            for one in (self.quiet, self.noisy)
        ]
        assert known[0].exists() == known[1].exists()
        if known[0].exists():  # of who is only claimed, servers know nothing
            body = {"anonymous": {"userId": user_id}, "into": {"external_id": external_id}}
            self._servers_call("merge", bodies=[body, body])

    @rule(one=st.integers(0, 9), other=st.integers(0, 9))
    def merge_two_known(self, one: int, other: int) -> None:
        if max(one, other) < len(self.ids):
            pairs = zip(self.ids[one], self.ids[other], strict=True)
            bodies = [{"customer": {"customerId": former}, "into": {"customerId": into}} for former, into in pairs]
            self._servers_call("merge", bodies=bodies)

    @rule(number=st.integers(0, 9))
    def erase(self, number: int) -> None:
        if number < len(self.ids):
            for one, customer_id in zip((self.quiet, self.noisy), self.ids.pop(number), strict=True):
                there = Customer.objects.filter(id=customer_id)
                if there.exists():
                    erase_customer(workspace_id=one.key.workspace.id, customer_id=customer_id)

    # Strangers --------------------------------------------------------------------------------------------------------

    @rule(known_by=named())
    def click(self, known_by: dict[str, str]) -> None:
        assert self.stranger.post(ACTION, {**SEEN, **known_by}).status_code in {200, 410}

    @rule(known_by=named())
    def submit(self, known_by: dict[str, str]) -> None:
        form = {"messageId": "m", "formData": {"colour": "red"}}
        assert self.stranger.post(CAPTURE, {**form, **known_by}).status_code in {200, 410}

    @rule(known_by=named("userId"))
    def identify(self, known_by: dict[str, str]) -> None:
        assert self.stranger.post("/api/v1/sdk/identify", known_by).status_code in {200, 409, 410}

    # ------------------------------------------------------------------------------------------------------------------

    @invariant()
    def servers_see_no_difference(self) -> None:
        assert self._as_servers_know(self.noisy) == self._as_servers_know(self.quiet)

    @staticmethod
    def _as_servers_know(server: ServerClient) -> list[Any]:
        known = []
        for one in Customer.objects.filter(workspace=server.key.workspace):
            held = {name: getattr(one, name) for name in FIELDS.values() if getattr(one, name)}
            said = {name: value for name, value in held.items() if name not in one.claimed_identifiers}
            assert not said or not {"email", "phone"} & set(
                one.claimed_identifiers
            )  # the next mail goes to nobody else
            attributes = {name: one.attributes[name] for name in one.attributes if name not in one.claimed_attributes}
            if said or attributes:
                known.append((sorted(said.items()), sorted(attributes.items())))
        return sorted(known)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_servers_find_what_they_would_find_without_strangers() -> None:
    run_state_machine_as_test(
        Strangers,
        settings=examples(15, stateful_step_count=25),
    )
