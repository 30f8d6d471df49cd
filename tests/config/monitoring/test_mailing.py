"""A mail server that is ill keeps nobody: neither those who are told by other ways, nor anybody's webhooks."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from threading import Event, Thread
from typing import Any

import pytest
from django.core.mail import EmailMessage

from config.monitoring import mailing
from config.monitoring.mailing import MailServerLeftAlone, send_mail
from tests.support.waiting import wait_until

Serve = Callable[[socket.socket, Event], None]


def hang(caller: socket.socket, over: Event) -> None:
    over.wait()


def drip(caller: socket.socket, over: Event) -> None:
    """A greeting that does not end, never silent for as long as anybody waits for a byte."""
    while not over.wait(0.05):
        caller.sendall(b"2")


def refuse(caller: socket.socket, over: Event) -> None:
    caller.sendall(b"421 not now\r\n")


@pytest.fixture
def mail_server(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """One that answers as the parameter does; what is set ends its connections."""
    over = Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    caller, _ = listener.accept()
                    Thread(target=answer, args=[caller], daemon=True).start()

        def answer(caller: socket.socket) -> None:
            with caller, suppress(OSError):
                request.param(caller, over)

        Thread(target=serve, daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = listener.getsockname()
        monkeypatch.setattr(mailing, "SECONDS", 0.3)
        monkeypatch.setattr(mailing, "REST_SECONDS", 0.0)
        yield over
        over.set()


def mail() -> EmailMessage:
    return EmailMessage("Engage", "It is late.", "engage@localhost", ["ops@acme.example"])


@pytest.mark.parametrize("mail_server", [hang, drip], indirect=True)
def test_whoever_mails_waits_so_long_and_leaves_a_server_alone_that_is_still_at_it(
    mail_server: Event, settings: Any
) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        send_mail(mail())
    for _ in range(20):
        with pytest.raises(MailServerLeftAlone):
            send_mail(mail())
    assert time.monotonic() - began < 2
    mail_server.set()
    [circuit] = [one for server, one in mailing._circuits.items() if server[2] == settings.EMAIL_PORT]
    wait_until(lambda: circuit.attempt is not None and not circuit.attempt.is_alive())
    with pytest.raises(Exception, match=r"(?i)closed|reset|left alone"):  # it is tried again
        send_mail(mail())


@pytest.mark.parametrize("mail_server", [refuse], indirect=True)
def test_one_that_fails_at_once_is_left_alone_for_a_while(mail_server: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailing, "REST_SECONDS", 60.0)
    with pytest.raises(Exception, match="not now"):
        send_mail(mail())
    with pytest.raises(MailServerLeftAlone):
        send_mail(mail())
