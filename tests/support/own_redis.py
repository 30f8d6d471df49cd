"""Loaded before the settings: each test process has a Redis database of its own, and empties it first.

Tests must not wake the workers of a service that runs beside them, nor each other's, nor those of another run. They
use, and empty, the databases from 8 on.
"""

import os
from urllib.parse import urlsplit, urlunsplit

import redis

from config.local import embedded
from config.local.locks import FileLock
from config.local.servers import data_folder

_FIRST_DATABASE = 8


def _claim_database() -> tuple[int, FileLock]:
    """The first one that no other test process has."""
    number = _FIRST_DATABASE
    while not (lock := FileLock.at(data_folder() / f"test-redis-{number}.lock")).try_exclusive():
        lock.close()
        number += 1
    return number, lock


def _with_database(url: str, number: int) -> str:
    if url.startswith("unix:"):
        return f"{url.partition('?')[0]}?db={number}"
    return urlunsplit(urlsplit(url)._replace(path=f"/{number}"))


_number, _claim = _claim_database()  # held as long as the process lives
os.environ["REDIS_URL"] = _with_database(os.environ.get("REDIS_URL") or embedded.redis_url(), _number)
redis.Redis.from_url(os.environ["REDIS_URL"]).flushdb()
