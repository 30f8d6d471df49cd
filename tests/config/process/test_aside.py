"""People are told of alerts while webhooks flow, and webhooks flow while a mail server hangs."""

import socket
from pathlib import Path

import pytest
import redis

from engage.alerts import Cause, note_at_once
from engage.models import Alert, Workspace
from journeys.engine import wakeups
from tests.journeys.connections.made import connect
from tests.journeys.webhooks.standing import standing
from tests.support.processes import WEBHOOK_WORKER, celery
from tests.support.receiver import Receiver
from tests.support.waiting import wait_until

ONE_THREAD = ["1" if argument == "2" else argument for argument in WEBHOOK_WORKER]
INPUTS = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}


@pytest.mark.slow
@pytest.mark.mostly_waits(long=True)
@pytest.mark.django_db(transaction=True)
def test_a_mail_server_that_hangs_and_webhooks_that_do_not_end_hold_up_nobody_else(
    acme: Workspace, rival: Workspace, receiver: Receiver, queue: redis.Redis, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    connect(rival, receiver.url("/ok/told"), key="ops", body={"said": "{{ inputs.text }}"}, inputs=INPUTS)
    Workspace.objects.filter(pk=rival.pk).update(alert_connection="ops")
    Workspace.objects.filter(pk=acme.pk).update(alert_emails="ada@acme.example")
    for one in (acme, rival):
        note_at_once(Cause(workspace_id=one.pk, rule="EngageJourneyHeldByGuard", says=f"Of {one.name}."))
    standing(acme, receiver.url("/held"))
    with socket.create_server(("127.0.0.1", 0)) as hangs:  # it never takes what connects
        monkeypatch.setenv("EMAIL_URL", f"smtp://127.0.0.1:{hangs.getsockname()[1]}")
        with celery(*ONE_THREAD, log=tmp_path / "webhooks.log"):
            wakeups.wake_sender()
            wait_until(lambda: receiver.in_flight == 1)  # which is as long as its only thread is busy
            wakeups.wake_one("tell")
            wait_until(lambda: Alert.objects.filter(attempts=1).exists())  # acme's is tried
            standing(acme, receiver.url("/ok/flows"), number=20)
            wait_until(lambda: sum(one.path == "/ok/flows" for one in receiver.arrived) == 20, seconds=8)
            assert not any(one.path == "/ok/told" for one in receiver.arrived)
            wait_until(lambda: Alert.objects.exclude(told_at=None).exists(), seconds=20)
            assert receiver.in_flight == 1
            receiver.let_go.set()
    assert any(one.path == "/ok/told" for one in receiver.arrived)
