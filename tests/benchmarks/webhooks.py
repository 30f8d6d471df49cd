"""Webhooks per second to a receiver on this machine, beside a bare loop of as many threads with the same client.

    python -m tests.benchmarks.webhooks [NUMBER] [THREADS]

Makes a database for itself on the server of DATABASE_URL, as the tests do, and removes it. The last line that it prints
is JSON: the rate of the bare loop, and that of the sender by the number of hosts.
"""

import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from ipaddress import ip_network

import django
from django.test.utils import setup_databases, teardown_databases

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from engage.models import Workspace  # noqa: E402 - reads the settings
from journeys.engine.webhooks.client import Client, Request  # noqa: E402
from journeys.engine.webhooks.sending import send_due  # noqa: E402
from journeys.engine.webhooks.signing import new_secret, signed_headers  # noqa: E402
from journeys.models import Enrollment, WebhookDelivery  # noqa: E402
from tests.benchmarks.receiver import running_receiver  # noqa: E402
from tests.journeys.webhooks.standing import standing  # noqa: E402

_ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
_CLIENT = Client(allowed_networks=[ip_network("127.0.0.0/8")])


def main() -> None:
    number, threads = (int(argument) for argument in (*sys.argv[1:], "10000", "32")[:2])
    with running_receiver() as port:
        databases = setup_databases(verbosity=0, interactive=False)
        try:
            bare = number / _bare(port, number, threads)
            say(f"bare loop, {threads} threads: {bare:,.0f}/s")
            rates = {}
            for addresses in (_ADDRESSES[:1], _ADDRESSES):
                rate = number / _through_the_database(port, number, threads, addresses)
                say(f"sender, {threads} threads, {len(addresses)} hosts: {rate:,.0f}/s, {rate / bare:.2f} of it")
                rates[len(addresses)] = rate
            say(json.dumps({"bare": bare, "sender": rates}))
        finally:
            teardown_databases(databases, verbosity=0)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _bare(port: int, number: int, threads: int) -> float:
    """Seconds for so many signed requests, with nothing read or written."""
    secret, body = new_secret(), b'{"hello": "Ada"}'

    def send(one: int) -> None:
        signed = signed_headers(
            webhook_id=f"msg_{one}", timestamp=int(time.time()), body=body, signing_secrets=[secret]
        )
        headers = {"Content-Type": "application/json"}
        url = f"http://{_ADDRESSES[one % len(_ADDRESSES)]}:{port}/"
        outcome = _CLIENT.send(
            Request(method="POST", url=url, headers=headers, signed=signed, body=body), at=datetime.now(UTC)
        )
        assert outcome.status == 200, outcome.error

    began = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(send, range(number)))
    return time.monotonic() - began


def _through_the_database(port: int, number: int, threads: int, addresses: tuple[str, ...]) -> float:
    """Seconds from deliveries that wait to enrollments that may go on."""
    workspace = Workspace.objects.create(key=f"with-{len(addresses)}", name="Acme")
    for address in addresses:
        standing(workspace, f"http://{address}:{port}/", number=number // len(addresses))
    began = time.monotonic()
    while WebhookDelivery.objects.filter(workspace=workspace, state="waiting").exists():
        for _ in send_due(threads=threads, client=_CLIENT, seconds=60):
            pass
    seconds = time.monotonic() - began
    states = Counter(WebhookDelivery.objects.filter(workspace=workspace).values_list("state", flat=True))
    assert states == {"delivered": number}, states
    assert not Enrollment.objects.filter(workspace=workspace, due_at=None).exists()
    return seconds


if __name__ == "__main__":
    main()
