"""Attempts to log in to the admin."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from pytest_django import Settings

LOGIN = "/admin/login/"
BUSY = "Somebody else is logging in"


def tried(client: Client, username: str, password: str, *, address: str) -> str:
    """What the page says; "" where it led in."""
    answer = client.post(LOGIN, {"username": username, "password": password}, REMOTE_ADDR=address)
    return "" if answer.status_code == 302 else answer.content.decode()


class HeldHasher(MD5PasswordHasher):
    """Takes as long as a test wants."""

    begun, go_on = Event(), Event()

    def verify(self, password: str, encoded: str) -> bool:
        self.begun.set()
        assert self.go_on.wait(60)
        return super().verify(password, encoded)


@contextmanager
def while_somebody_logs_in(settings: Settings, username: str) -> Iterator[None]:
    """A superuser whose password is checked as long as the block runs, and then is right."""
    usual, settings.PASSWORD_HASHERS = settings.PASSWORD_HASHERS, ["tests.admin.logins.HeldHasher"]
    User.objects.create_superuser(username, password="countess")
    HeldHasher.begun.clear()
    HeldHasher.go_on.clear()

    def log_in() -> str:
        try:
            return tried(Client(), username, "countess", address="203.0.113.8")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(log_in)
        try:
            assert HeldHasher.begun.wait(60)
            settings.PASSWORD_HASHERS = usual
            yield
        finally:
            HeldHasher.go_on.set()
        assert held.result() == ""
