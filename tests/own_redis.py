"""Loaded before the settings: each test process has a Redis database of its own, and empties it first.

Tests must not wake the workers of a service that runs beside them, nor each other's. They use, and empty, the databases
from 8 on.
"""

import os
from urllib.parse import urlsplit, urlunsplit

import redis

from config import embedded

_FIRST_DATABASE = 8


def _own_database(url: str, number: int) -> str:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return urlunsplit(parts._replace(query=f"db={number}"))
    return urlunsplit(parts._replace(path=f"/{number}"))


_process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
os.environ["REDIS_URL"] = _own_database(os.environ.get("REDIS_URL") or embedded.redis_url(), _FIRST_DATABASE + _process)
redis.Redis.from_url(os.environ["REDIS_URL"]).flushdb()
