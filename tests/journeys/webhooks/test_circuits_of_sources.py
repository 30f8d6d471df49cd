"""A source that keeps failing is left alone, and no other of its host; several of them open the host's circuit."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.models import WebhookAttempt, WebhookDelivery, WebhookHost
from tests.journeys.webhooks.circuits import HOST, host_is_open, is_open, let_time_pass, note
from tests.journeys.webhooks.standing import make_due, send, standing
from tests.support.cases import each
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db


def test_one_failing_source_opens_its_own_circuit_and_not_the_hosts(acme: Workspace) -> None:
    note(acme, "-" * 30, source="bad")
    assert is_open(acme, source="bad")
    note(acme, "-" * 9, source="worse")
    assert not is_open(acme, source="worse")
    assert not host_is_open(acme)


@each(
    "noted, opens",
    [
        ([("a", "-----"), ("b", "----"), ("c", "-")], True),
        ([("a", "-----"), ("b", "-----"), ("a", "-----")], False),
        ([("a", "-----"), ("b", "----+"), ("c", "-----")], False),
        ([("a", "---"), ("b", "---"), ("c", "---")], False),
    ],
)
def test_three_sources_that_fail_in_a_row_open_the_hosts(
    acme: Workspace, noted: list[tuple[str, str]], opens: bool
) -> None:
    for source, attempts in noted:
        note(acme, attempts, source=source)
    assert host_is_open(acme) is opens
    note(acme, "+", source="d")
    assert not WebhookHost.objects.exists()


def test_ten_attempts_without_a_connection_open_the_hosts(acme: Workspace) -> None:
    note(acme, "-" * 9, source="a", connected=False)
    note(acme, "-", source="a")
    note(acme, "-" * 9, source="a", connected=False)
    assert not host_is_open(acme)
    note(acme, "-", source="b", connected=False)
    assert host_is_open(acme)


def test_what_only_shows_that_a_source_still_fails_says_nothing_of_its_host(acme: Workspace) -> None:
    for source in "abc":
        note(acme, "---", source=source)
        note(acme, "--", source=source, probe=True)
    assert WebhookHost.objects.get().failures == 9


def of_sources(workspace: Workspace, url: str, *sources: str, number: int = 1) -> None:
    """Deliveries that are due, of each source, the first first."""
    for place, source in enumerate(sources):
        ids = [delivery.id for delivery in standing(workspace, url, number=number)]
        due_at = timezone.now() - timedelta(minutes=len(sources) - place)
        WebhookDelivery.objects.filter(id__in=ids).update(source=source, due_at=due_at)


def test_a_failing_source_keeps_no_other_of_its_host_waiting(acme: Workspace, receiver: Receiver) -> None:
    of_sources(acme, receiver.url("/status/500"), "bad", number=27)
    of_sources(acme, receiver.url("/ok"), "news", number=5)
    send(threads=4)
    make_due()
    of_sources(acme, receiver.url("/ok"), "news", number=5)
    send(threads=4)
    assert [one.path for one in receiver.arrived].count("/ok") == 10
    assert WebhookDelivery.objects.filter(source="bad", state="waiting").count() == 27
    assert 10 <= WebhookAttempt.objects.filter(delivery__source="bad").count() <= 14


def test_the_sources_of_a_host_probe_it_in_turn_and_each_its_own_circuit(acme: Workspace) -> None:
    of_sources(acme, "http://one.example/", "a", "b", "c", number=5)
    for source in "abc":
        note(acme, "----", source=source)
    assert host_is_open(acme)
    assert claim_due(HostSlots(32)) == []
    asked = []
    for _ in range(4):
        let_time_pass(31)
        [probe] = claim_due(HostSlots(32))
        assert probe.probes_host
        assert claim_due(HostSlots(32)) == []
        note(acme, "-", source=probe.source, probes_host=True)
        asked.append(probe.source)
    assert asked == ["a", "b", "c", "a"]
    let_time_pass(31)
    [probe] = claim_due(HostSlots(32))
    note(acme, "+", source=probe.source, probes_host=True)
    assert probe.source == "b"
    assert {one.source for one in claim_due(HostSlots(32))} == {"a", "b", "c"}


def test_each_open_source_lets_one_through_beside_what_is_well(acme: Workspace) -> None:
    of_sources(acme, "http://one.example/", "a", "b", "c", number=20)
    for source in "ab":
        note(acme, "-" * 10, source=source)
    claimed = claim_due(HostSlots(8))
    assert {one.source for one in claimed} == {"c"}
    let_time_pass(31)
    claimed = claim_due(HostSlots(32))
    assert sorted(one.source for one in claimed if one.probes_source) == ["a", "b"]
    assert {one.source for one in claimed if not one.probes_source} == {"c"}
    assert len(claimed) <= 16


def test_as_the_version_before_wrote_it_a_hosts_circuit_stops_all(acme: Workspace) -> None:
    of_sources(acme, "http://one.example/", "", "a")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO journeys_webhookhost (workspace_id, host, failures, failing_since, open_until) "
            "VALUES (%s, %s, 10, now(), now() + interval '30 seconds')",
            [acme.id, HOST],
        )
    assert claim_due(HostSlots(8)) == []
    let_time_pass(31)
    assert len(claim_due(HostSlots(8))) == 1
