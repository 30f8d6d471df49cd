"""A Redis that is away costs as little time as can be."""

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest
from pytest_django import Settings

from engage.redis.availability import REDIS_FAILURES, redis_client
from engage.redis.limit_counters import CounterCache
from engage.redis.metric_counters import all_counts


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda url: redis_client().ping(), id="a request"),
        pytest.param(lambda url: all_counts(), id="counts for a monitoring system"),
        pytest.param(lambda url: CounterCache(url, {}).add("asked", 0, 60), id="counters of a limit"),
    ],
)
def test_a_redis_that_hangs_up_is_asked_once(settings: Settings, ask: Callable[[str], object]) -> None:
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    near, _ = listener.accept()
                    taken.append(near)
                    near.close()

        Thread(target=hang_up, daemon=True).start()
        settings.REDIS_URL = url = f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        with suppress(*REDIS_FAILURES):
            ask(url)
        listener.shutdown(socket.SHUT_RDWR)
    assert len(taken) == 1
