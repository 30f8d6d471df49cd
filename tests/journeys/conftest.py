"""The queues of the workers, in a Redis that each test process has to itself."""

import pytest
import redis
from django.conf import settings


@pytest.fixture
def queue() -> redis.Redis:
    """Emptied: nobody is expected to serve anything."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.flushdb()
    return client
