"""E-mail by a server that may hang, or answer a byte at a time: nobody waits for it for long, or again soon."""

import time
from dataclasses import dataclass
from threading import Thread

from django.conf import settings
from django.core.mail import EmailMessage

SECONDS = 10.0  # for one message, from looking its server up to the server's last word
REST_SECONDS = 50.0  # without an attempt after one that failed; alerts are told again after a minute


class MailServerLeftAlone(Exception):
    """It has failed just now, or has not ended an earlier attempt yet."""


@dataclass
class _Circuit:
    rests_until: float = 0.0
    attempt: Thread | None = None


_circuits: dict[tuple[object, ...], _Circuit] = {}


def send_mail(message: EmailMessage) -> None:
    """Raises what went wrong: TimeoutError after SECONDS, however slowly the server goes on."""
    server = (settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT)
    circuit = _circuits.setdefault(server, _Circuit())
    is_at_it = circuit.attempt is not None and circuit.attempt.is_alive()
    if is_at_it or time.monotonic() < circuit.rests_until:
        raise MailServerLeftAlone
    circuit.rests_until = time.monotonic() + SECONDS + REST_SECONDS
    _send_in_time(message, circuit)
    circuit.rests_until = 0.0


def _send_in_time(message: EmailMessage, circuit: _Circuit) -> None:
    """In a thread that is left to itself if it takes too long: a limit of each wait is none of all of them."""
    failed: list[Exception] = []

    def send() -> None:
        try:
            message.send()
        except Exception as error:  # noqa: BLE001 - whoever waits raises it
            failed.append(error)

    circuit.attempt = Thread(target=send, name="mail", daemon=True)
    circuit.attempt.start()
    circuit.attempt.join(SECONDS)
    if circuit.attempt.is_alive():
        raise TimeoutError
    if failed:
        raise failed[0]
