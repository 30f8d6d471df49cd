import os
from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker


@pytest.fixture
def own_database(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """An empty one, which is Django's until the test is over."""
    usual = connection.settings_dict["NAME"]  # of no test, where none that runs with this one asks for a database
    tests = connection.settings_dict["TEST"]["NAME"] or f"test_{usual}"
    own = f"{tests}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}_migrate"
    with django_db_blocker.unblock():
        try:
            remake(own)
            connection.close()  # a test before this one may have left it open, to the usual database
            connection.settings_dict["NAME"] = own
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = usual
            remake(own, gone=True)


def remake(name: str, *, gone: bool = False) -> None:
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
        if not gone:
            cursor.execute(f'CREATE DATABASE "{name}"')
