from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.chaos.servers import OwnServer, own_redis


@pytest.fixture
def server_of_queues(tmp_path: Path, settings: Settings) -> Iterator[OwnServer]:
    """A Redis that may be stopped."""
    server, settings.REDIS_URL = own_redis(tmp_path)
    server.start()
    yield server
    server.end()
