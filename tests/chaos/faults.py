"""Faults: each is done to a running service, and comes back when what it did is over."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.chaos.service import Service
from tests.support.waiting import wait_until

Deed = Callable[[Service], None]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is done, `at` so many seconds after the load begins; `words` tell it in the plan."""

    at: float
    words: str
    do: Deed


def fault(at: float, words: str, do: Deed) -> Fault:
    return Fault(at=round(at, 2), words=words, do=do)


# Processes ------------------------------------------------------------------------------------------------------------


def kill_group(name: str) -> Deed:
    """`kill -9` of a worker and all its children; it stays away."""
    return lambda service: service.fleet[name].kill()


def kill_child(name: str, place: int) -> Deed:
    """`kill -9` of one of its children, which runs tasks."""

    def do(service: Service) -> None:
        if children := service.fleet[name].children():
            with suppress(ProcessLookupError):
                os.kill(children[place % len(children)], signal.SIGKILL)

    return do


def kill_web(name: str) -> Deed:
    """`kill -9` of a web server under load; a supervisor starts it again."""

    def do(service: Service) -> None:
        member = service.fleet[name]
        with service.away("web"):
            member.kill()
        member.start()
        wait_until(member.answers, what=name)

    return do


def put_clock_off(name: str, seconds: int) -> Deed:
    """Replaces a worker by one whose clock is off."""

    def do(service: Service) -> None:
        member = service.fleet[name]
        member.kill()
        celery = "celery --quiet"
        skewed = member.command.replace(celery, f"{sys.executable} -m tests.chaos.skewed {seconds} --quiet")
        if skewed == member.command:
            raise ValueError(f"The Procfile does not start {name} with {celery!r}.")
        member.start(skewed)

    return do


# Redis ----------------------------------------------------------------------------------------------------------------


def kill_redis(seconds: float) -> Deed:
    def do(service: Service) -> None:
        with service.away("redis"):
            service.redis.stop(signal.SIGKILL)
            time.sleep(seconds)
            service.redis.start()

    return do


def flush_redis(service: Service) -> None:
    with service.client() as client:
        client.flushall()


def freeze_redis(seconds: float) -> Deed:
    def do(service: Service) -> None:
        with service.away("redis"), service.redis.frozen():
            time.sleep(seconds)

    return do


def fill_redis(seconds: float) -> Deed:
    """No write is taken any more."""

    def do(service: Service) -> None:
        with service.away("redis"), service.client() as client:
            client.config_set("maxmemory", "1")
            time.sleep(seconds)
            client.config_set("maxmemory", "0")

    return do


def demote_redis(seconds: float) -> Deed:
    """It answers, and refuses every write, as in a failover."""

    def do(service: Service) -> None:
        with service.away("redis"), service.client() as client:
            client.replicaof("127.0.0.1", 1)
            time.sleep(seconds)
            client.replicaof("NO", "ONE")

    return do


# PostgreSQL -----------------------------------------------------------------------------------------------------------


def restart_postgresql(number: signal.Signals, seconds: float) -> Deed:
    """SIGINT is a fast restart, SIGQUIT an immediate one: without a word, and its log is replayed."""

    def do(service: Service) -> None:
        with service.away("postgresql"):
            service.postgresql.stop(number)
            time.sleep(seconds)
            service.postgresql.start()

    return do


def terminate_backends(service: Service) -> None:
    with service.away("postgresql"), suppress(psycopg.OperationalError):
        service.ask(
            "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def use_up_connections(seconds: float) -> Deed:
    """Others have all connections that PostgreSQL takes, also those that the service had."""

    def do(service: Service) -> None:
        until = time.monotonic() + seconds
        with service.away("postgresql"), ExitStack() as stack:
            others: list[psycopg.Connection[Any]] = []
            while time.monotonic() < until:
                with suppress(psycopg.OperationalError):
                    while True:
                        others.append(stack.enter_context(psycopg.connect(service.database_url, autocommit=True)))
                own = [other.info.backend_pid for other in others]
                others[0].execute(_TERMINATE_ALL_BUT, [own])
                time.sleep(0.02)

    return do


_TERMINATE_ALL_BUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> ALL(%s)
"""


def freeze_postgresql(seconds: float) -> Deed:
    def do(service: Service) -> None:
        with service.away("postgresql"):
            with service.postgresql.frozen():
                time.sleep(seconds)
            service.postgresql.wait_until_it_answers()

    return do
