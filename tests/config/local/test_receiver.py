"""The demo's receiver takes what the Standard Webhooks library signs, and nothing else."""

import base64
import http.client
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from standardwebhooks import Webhook

from config import ROOT
from config.local.receiver import is_signed
from tests.support.cases import each
from tests.support.receiver import free_port
from tests.support.terminals import HOSTILE, SHOWN
from tests.support.waiting import wait_until

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes....").decode()
OTHER = "whsec_" + base64.b64encode(b"another one of thirty-two bytes.").decode()
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
BODY = b'{"text": "Hello"}'


def headers(secret: str = SECRET) -> dict[str, str]:
    signature = Webhook(secret).sign(msg_id="msg_1", timestamp=NOW, data=BODY.decode())
    return {"webhook-id": "msg_1", "webhook-timestamp": str(int(NOW.timestamp())), "webhook-signature": signature}


def signed(sent: dict[str, str], body: bytes = BODY, *, seconds_later: float = 0) -> bool:
    return is_signed(sent, body, secrets=[SECRET], now=NOW.timestamp() + seconds_later)


def test_a_request_that_the_secret_signed_holds() -> None:
    assert signed(headers())


def test_one_of_several_signatures_is_enough() -> None:
    rotating = headers(OTHER)["webhook-signature"] + " " + headers()["webhook-signature"]
    assert signed({**headers(), "webhook-signature": rotating})


def test_a_signature_of_other_letters_does_not_hold() -> None:
    assert not signed({**headers(), "webhook-signature": "v1,\u00e9"})


@each("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_request_without_one_of_the_headers_does_not_hold(name: str) -> None:
    assert not signed({other: value for other, value in headers().items() if other != name})


def test_another_secret_another_body_and_another_id_do_not_hold() -> None:
    assert not signed(headers(OTHER))
    assert not signed(headers(), BODY + b" ")
    assert not signed({**headers(), "webhook-id": "msg_2"})


@each("seconds", [-301, 301])
def test_a_request_of_another_time_does_not_hold(seconds: float) -> None:
    assert not signed(headers(), seconds_later=seconds)


def test_a_line_of_what_arrives_commands_no_terminal(tmp_path: Path) -> None:
    port = free_port()
    surroundings = {**os.environ, "DEMO_RECEIVER_PORT": str(port), "EMBEDDED_DATA": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "config.local.receiver"], cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True
    ) as receiver:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            wait_until(lambda: _listens(connection))
            connection.request("POST", "/hello?who=%1b", HOSTILE.encode(), {"webhook-id": "\x9b31m"})
            assert connection.getresponse().status == 401
            assert receiver.stdout is not None
            line = receiver.stdout.readline()
        finally:
            receiver.kill()
    assert line == f"/hello?who=%1b \\x9b31m signature INVALID {SHOWN}\n"


def _listens(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.connect()
    except ConnectionRefusedError:
        return False
    return True
