"""A host that keeps failing is left alone for a while, where it fails; meanwhile no attempts are used up."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.webhooks.circuits import note_attempts
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.results import AttemptResult, write_results
from journeys.engine.webhooks.schedule import DeliveryVerdict, NextState
from journeys.models import WebhookAttempt, WebhookCircuit, WebhookDelivery
from tests.journeys.webhooks.circuits import attempted, is_open, let_time_pass, note
from tests.journeys.webhooks.standing import SOURCE, make_due, send, standing
from tests.support.cases import each
from tests.support.receiver import Receiver, running
from tests.support.simultaneous import PATIENCE_SECONDS, all_at_once, elsewhere, made_to_wait

pytestmark = pytest.mark.django_db


@each(
    "attempts, opens",
    [
        (["----------"], True),
        (["-----", "-----"], True),
        (["-"] * 10, True),
        (["---------"], False),
        (["---------", "+", "---------"], False),
        (["---------+", "---------"], False),
        (["---------+---------"], False),
        (["+----------"], True),
        (["---------+-", "---------"], True),
        (["----------+"], False),
    ],
)
def test_ten_failures_in_a_row_open_a_circuit(
    acme: Workspace, rival: Workspace, attempts: list[str], opens: bool
) -> None:
    for some in attempts:
        note(acme, some)
    assert is_open(acme) is opens
    assert not is_open(rival)


@each("seconds", [55, 61, 3600])
def test_failures_in_a_row_open_one_however_long_they_take(acme: Workspace, seconds: int) -> None:
    """As where one came just before a minute was over, and the others just after it."""
    note(acme, "-")
    for attempts, opens in (("--------", False), ("-", True)):
        let_time_pass(seconds)
        note(acme, attempts)
        assert is_open(acme) is opens


def test_a_healthy_host_leaves_no_row(acme: Workspace) -> None:
    note(acme, "-+")
    assert not WebhookCircuit.objects.exists()


def test_the_host_of_a_workspace_that_was_deleted_meanwhile_leaves_no_row(acme: Workspace, rival: Workspace) -> None:
    gone = attempted(rival, healthy=False)
    rival.delete()
    note_attempts([gone, attempted(acme, healthy=False)])
    assert WebhookCircuit.objects.get().workspace_id == acme.id


def test_an_open_circuit_sends_nothing_and_uses_up_nothing(
    acme: Workspace, rival: Workspace, receiver: Receiver
) -> None:
    deliveries = standing(acme, receiver.url("/status/500"), number=50)
    send(threads=16)
    attempted = WebhookAttempt.objects.count()
    assert 10 <= attempted == len(receiver.arrived) <= 10 + 8
    make_due()
    assert send() == []
    assert WebhookDelivery.objects.filter(attempts__gt=0).count() == attempted
    assert WebhookDelivery.objects.filter(state="waiting").count() == len(deliveries)
    # Neither another host nor another workspace waits with it.
    with running() as other:
        standing(acme, other.url())
        standing(rival, receiver.url())
        make_due()
        send()
        assert len(other.arrived) == 1
    assert len(receiver.arrived) == attempted + 1


def test_after_half_a_minute_one_at_a_time_probes_until_one_succeeds(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=20)
    note(acme, "----------")
    assert claim_due(HostSlots(32)) == []
    let_time_pass(29)
    assert claim_due(HostSlots(32)) == []
    for _ in range(2):
        let_time_pass(31)
        [probe] = claim_due(HostSlots(32))
        assert probe.probe
        assert claim_due(HostSlots(32)) == []  # one at a time
        note(acme, "-", probe=True)
        assert claim_due(HostSlots(32)) == []
    let_time_pass(31)
    [probe] = claim_due(HostSlots(32))
    note(acme, "+", probe=True)
    claimed = claim_due(HostSlots(32))
    assert len(claimed) == 16  # half of the threads
    assert not any(one.probe for one in claimed)


def test_what_succeeds_after_the_probe_has_failed_closes_the_circuit_all_the_same(acme: Workspace) -> None:
    note(acme, "----------")
    let_time_pass(31)
    signs = (("-", True), ("+", False), ("-", False))
    note_attempts([attempted(acme, healthy=sign == "+", probes_source=probe) for sign, probe in signs])
    assert not is_open(acme)
    assert WebhookCircuit.objects.get().failures == 1


@pytest.mark.django_db(transaction=True)
def test_two_senders_that_claim_at_once_let_one_probe_through(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=2)
    note(acme, "----------")
    let_time_pass(31)
    with transaction.atomic():
        assert [one.probe for one in claim_due(HostSlots(32))] == [True]
        assert elsewhere(lambda: claim_due(HostSlots(32))) == []


def test_the_circuits_of_two_workspaces_open_and_close_apart(acme: Workspace, rival: Workspace) -> None:
    for workspace in (acme, rival):
        note(workspace, "----------")
    let_time_pass(31)
    theirs = WebhookCircuit.objects.values().get(workspace=rival)
    note(acme, "-", probe=True)  # opens its own anew
    assert WebhookCircuit.objects.filter(workspace=acme, open_until__gt=timezone.now() + timedelta(seconds=29)).exists()
    assert WebhookCircuit.objects.values().get(workspace=rival) == theirs
    note(acme, "+", probe=True)
    assert not is_open(acme)
    assert WebhookCircuit.objects.values().get() == theirs


def test_what_was_in_flight_does_not_keep_a_circuit_open_for_longer(acme: Workspace) -> None:
    note(acme, "----------")
    let_time_pass(20)
    before = WebhookCircuit.objects.get().open_until
    note(acme, "----------")
    assert WebhookCircuit.objects.get().open_until == before
    note(acme, "+")
    assert not is_open(acme)


def test_the_probe_of_a_sender_that_died_is_followed_by_another(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=2)
    note(acme, "----------")
    let_time_pass(31)
    [first] = claim_due(HostSlots(32))
    let_time_pass(31)
    [second] = claim_due(HostSlots(32))
    assert second.probe
    assert second.id != first.id


def test_a_probe_counts_though_its_customer_was_erased_meanwhile(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=3)
    note(acme, "----------")
    let_time_pass(31)
    [probe] = claim_due(HostSlots(32))
    enrollment = WebhookDelivery.objects.get(id=probe.id).enrollment
    Customer.objects.filter(id=enrollment.customer_id).delete()
    verdict = DeliveryVerdict(next_state=NextState.DELIVERED, reason="Answered 200.")
    outcome = Outcome(at=timezone.now(), milliseconds=5, status=200)
    written = write_results([AttemptResult(claimed=probe, outcome=outcome, verdict=verdict)], wait=True)
    assert written.next_states.total() == len(written.held) == 0
    assert not WebhookCircuit.objects.exists()
    assert len(claim_due(HostSlots(32))) == 2


def test_a_host_that_comes_back_gets_what_has_waited(acme: Workspace, receiver: Receiver) -> None:
    standing(acme, receiver.url("/ok"), number=5)
    WebhookCircuit.objects.create(
        workspace=acme, host=receiver.host, source=SOURCE, failures=10,
        failing_since=timezone.now() - timedelta(minutes=5), open_until=timezone.now() - timedelta(seconds=1),
    )  # fmt: skip
    send()
    assert len(receiver.arrived) == 5
    assert not WebhookCircuit.objects.exists()


@pytest.mark.parametrize("path", ["/status/404", "/redirect?to=x"])
def test_an_answer_that_is_final_says_that_the_host_is_well(acme: Workspace, receiver: Receiver, path: str) -> None:
    standing(acme, receiver.url(path), number=15)
    send()
    assert len(receiver.arrived) == 15
    assert not WebhookCircuit.objects.exists()


def test_what_was_refused_says_nothing_of_the_host(acme: Workspace) -> None:
    standing(acme, "http://10.0.0.1/", number=15)
    send()
    assert WebhookDelivery.objects.filter(state="failed").count() == 15
    assert not WebhookCircuit.objects.exists()


def test_what_was_refused_ends_no_row_of_failures(acme: Workspace) -> None:
    standing(acme, "http://10.0.0.1/")
    WebhookCircuit.objects.create(
        workspace=acme, host="10.0.0.1:80", source=SOURCE, failures=9, failing_since=timezone.now()
    )
    send()
    assert WebhookDelivery.objects.get().state == "failed"
    assert WebhookCircuit.objects.get().failures == 9


def test_what_is_refused_does_not_stand_behind_an_open_circuit(acme: Workspace) -> None:
    """As where a name came to lead to a private address: the probe shows that nothing there is worth waiting for."""
    standing(acme, "http://10.0.0.1/", number=15)
    WebhookCircuit.objects.create(
        workspace=acme, host="10.0.0.1:80", source=SOURCE, failures=10,
        failing_since=timezone.now() - timedelta(minutes=5), open_until=timezone.now() - timedelta(seconds=1),
    )  # fmt: skip
    send()
    assert WebhookDelivery.objects.filter(state="failed").count() == 15
    assert not WebhookCircuit.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_senders_that_note_the_same_hosts_do_not_lock_each_other_out(acme: Workspace) -> None:
    def noting(healthy: str, failing: str) -> Callable[[], None]:
        attempts = [attempted(acme, host=host, healthy=host == healthy) for host in (healthy, failing)]

        def note_often() -> None:
            for _ in range(100):
                with transaction.atomic():
                    note_attempts(attempts)

        return note_often

    all_at_once([noting("one.example:80", "two.example:80"), noting("two.example:80", "one.example:80")] * 2)


@pytest.mark.django_db(transaction=True)
def test_who_only_saw_healthy_hosts_waits_for_nobody_who_notes_their_failures(acme: Workspace) -> None:
    def note_success() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '2s'")  # this transaction would wait for it, and it for this one
        note(acme, "+")

    note(acme, "-")
    with transaction.atomic():
        note(acme, "-")
        all_at_once([note_success])
    assert WebhookCircuit.objects.get().failures == 2
    note(acme, "+")
    assert not WebhookCircuit.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_probes_success_ends_the_row_though_a_late_failure_is_noted_at_this_moment(acme: Workspace) -> None:
    def succeed() -> None:
        with transaction.atomic():
            note(acme, "+", probe=True)

    note(acme, "-" * 10)
    with transaction.atomic():
        note(acme, "-")
        succeeding = made_to_wait(succeed)
    succeeding.result(PATIENCE_SECONDS)
    assert not WebhookCircuit.objects.exists()
