"""What holds every test to doing nothing slow inside of a transaction does so (tests/support/slow_work.py)."""

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

import pytest
from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction

from tests.support.cases import each
from tests.support.tables import taken_back


def _connect() -> None:
    with socket.socket() as caller, suppress(OSError):
        caller.connect(("127.0.0.1", 1))


def _begin_tls() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, suppress(OSError):
        theirs.close()
        ssl.create_default_context().wrap_socket(ours, server_hostname="a.example").close()


@each("slow", [lambda: make_password("x"), lambda: check_password("x", "md5$a$b"), _connect, _begin_tls])
@pytest.mark.django_db
def test_what_is_slow_is_found_inside_of_a_transaction(slow: Callable[[], object]) -> None:
    with taken_back():
        slow()
    with transaction.atomic(), pytest.raises(pytest.fail.Exception, match="inside of a transaction"):
        slow()
