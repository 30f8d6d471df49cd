"""Callers that stall: half a body, and answers that nobody reads."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

from tests.chaos.faults import fault
from tests.chaos.locks import probes_answer
from tests.chaos.scenario import Scenario, Trial
from tests.chaos.servers import with_unread_answers
from tests.chaos.service import Service

_NUMBER = 50  # of each kind, at each web server
_STALLED_SECONDS = 8.0
_ANSWERED_SECONDS = 3.0
_SMALL = 4096  # bytes, of a buffer
_PATIENCE = 5.0  # seconds, to connect


def stall(service: Service) -> None:
    """Nobody of them says or reads any more, until the end."""
    tenant = service.tenants["north"]
    half = "POST /api/v1/sdk/bridge/action HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    half += f"X-App-Id: {tenant.app}\r\nContent-Length: 1000\r\n\r\n" + '{"external_id": '
    long = "GET /api/v1/schema HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with ExitStack() as stack:
        for web in service.load.webs:
            for said in [half] * _NUMBER + [long] * _NUMBER:
                stack.enter_context(_caller(web.port, said))
        time.sleep(_STALLED_SECONDS)
        for web in service.load.webs:
            if (unread := with_unread_answers(web.port)) < _NUMBER:
                service.complaints.append(f"only {unread} of {_NUMBER} readers have stalled")


def _caller(port: int, said: str) -> socket.socket:
    client = socket.socket()
    client.settimeout(_PATIENCE)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
    client.connect(("127.0.0.1", port))
    client.sendall(said.encode())
    return client


def _all_are_answered(service: Service, trial: Trial) -> Iterator[str]:
    slow = [sending for sending in trial.sendings if sending.seconds > _ANSWERED_SECONDS]
    for sending in slow[:3]:
        yield f"{sending.call.kind} {sending.call.name} took {sending.seconds:.1f} s while others stalled"


STALLED = Scenario(
    name="stalled", load=10, rest_seconds=30, findings=(probes_answer, _all_are_answered),
    faults=lambda chance: [fault(chance.uniform(0.5, 1), "50 senders and 50 readers stall at each web server", stall)],
)  # fmt: skip
