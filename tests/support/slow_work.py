"""Nothing slow is done inside of a transaction: it holds its locks meanwhile, and PostgreSQL ends one that idles."""

import socket
import ssl
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection


def _is_in_a_transaction() -> bool:
    """Of the service's own: those of Django's tests, and those that take back what a test wrote, do not count."""
    return any(not vars(block)["_from_testcase"] for block in connection.atomic_blocks)


def refuse_in_a_transaction(what: str) -> None:
    if _is_in_a_transaction():
        pytest.fail(f"{what} inside of a transaction.")


class QuickHasher(MD5PasswordHasher):
    """In the place of Django's, which is slow on purpose: half a second for each."""

    def encode(self, password: str, salt: str) -> str:
        refuse_in_a_transaction("A password is hashed")
        return str(super().encode(password, salt))


def watch(patch: pytest.MonkeyPatch) -> None:
    """From here on, other machines are called, and TLS begins, outside of transactions alone."""

    connect, wrap = socket.socket.connect, ssl.SSLContext.wrap_socket

    def watched_connect(to: socket.socket, *args: Any) -> None:
        if to.family != socket.AF_UNIX:  # as Redis is called in tests
            refuse_in_a_transaction("Another machine is called")
        connect(to, *args)

    def watched_wrap(*args: Any, **named: Any) -> ssl.SSLSocket:
        refuse_in_a_transaction("TLS begins")
        return wrap(*args, **named)

    patch.setattr(socket.socket, "connect", watched_connect)
    patch.setattr(ssl.SSLContext, "wrap_socket", watched_wrap)
