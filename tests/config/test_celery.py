"""Celery's own commands on the service."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from config import ROOT
from config.celery import app
from config.server_urls import broker_url
from tests.chaos.servers import own_redis
from tests.config.environments import PRODUCTION
from tests.support.processes import environment

URLS = [
    "redis://:sesame@redis.example/0",
    "redis://engage:sesame@redis.example:6379/0",
    "rediss://engage:sesame%40sesame@redis.example/0?ssl_cert_reqs=none",
    "redis://:sesame'sesame\"@redis.example/0",
    "redis://:sesame@sesame@redis.example/0",
    "unix://engage:sesame@/run/redis.sock?db=0",
]


@pytest.mark.slow
def test_the_report_to_pass_on_holds_no_password() -> None:
    report = subprocess.run(
        [Path(sys.executable).with_name("celery"), "-A", "config", "report"], cwd=ROOT, capture_output=True, text=True,
        check=True, timeout=60,
        env={
            "PATH": os.environ["PATH"], **PRODUCTION, "DATABASE_URL": "postgres://engage:hush@db.example/engage",
            "REDIS_URL": URLS[2], "METRICS_TOKEN": "a-token-of-metrics",
        },
    )  # fmt: skip
    printed = report.stdout + report.stderr
    assert "REDIS_URL" in printed
    assert "********@" in printed
    for secret in ("sesame", "hush", "a-token-of-metrics", PRODUCTION["SECRET_KEY"]):
        assert secret not in printed


@pytest.mark.parametrize("url", URLS)
def test_the_report_hides_the_password_of_any_url(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Celery, "bugreport", lambda _: repr({"broker_url": broker_url(url), "REDIS_URL": url}))
    assert "sesame" not in app.bugreport()
    assert app.bugreport().count("********@") == 2


_TELL_THREADS = """
import os, sys, threading
from celery.signals import worker_before_create_process
from config.celery import app

begun, begin = [], threading.Thread.start

def note(thread):
    begun.append(thread.name)
    begin(thread)

def tell(**_):
    print(begun)
    sys.stdout.flush()
    os._exit(0)

threading.Thread.start = note
worker_before_create_process.connect(tell)
app.worker_main(["worker", "--queues", "single", "--concurrency", "1"])
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_no_thread_begins_before_the_children_of_a_worker() -> None:
    """One that connects with TLS may hold a lock of OpenSSL, and a child that got it so waits for it for ever."""
    told = subprocess.run(
        [sys.executable, "-c", _TELL_THREADS], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    assert told.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(sys.platform != "linux", reason="Other systems have other limits")
def test_a_redis_that_acknowledges_nothing_is_left_after_three_seconds(tmp_path: Path) -> None:
    server, url = own_redis(tmp_path)
    server.start()
    try:
        with app.connection_for_read(broker_url(url)) as connection:
            channel: Any = connection.default_channel
            connected = channel.client.connection_pool.get_connection()._sock
            assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 1
            assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 3000
    finally:
        server.end()
