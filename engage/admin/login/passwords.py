"""The staff login form, and how often a password may be tried.

Attempts are limited per client address. Beyond that, those at one account are slowed down: after some failures at it,
each address may try it only once in a while, which grows up to LONGEST_WAIT seconds. Nobody is locked out by what is
tried from elsewhere: an address that has not tried lately passes at once.

Hashing a password takes a fifth of a second, so a process does it once at a time. Who comes meanwhile is told to try
again, instead of occupying another of the threads that serve calls.

Known devices and addresses (known_devices.py) have limits of their own instead, and a password checked beside that of a
stranger. So staff get in while many addresses keep guessing. Whoever guesses from ever new addresses can still fill the
place of strangers: then a new browser at a new address has to try several times. No limit tells it from them, and none
waits for its turn: a process has few threads, and they serve all tenants. The link of `manage.py break_glass` comes by
none of these ways.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from engage.admin.login.known_devices import is_known_device, is_known_place
from engage.audit.refusals import record_failed_login
from engage.http.client_address import client_address
from engage.http.limits import CapReached, count_towards, count_within, counted_so_far
from engage.notations.plurals import counted

LONGEST_WAIT = 32  # seconds
_FAILURES = "failed_logins"
_FREE_FAILURES = 5  # at an account in an hour, before attempts at it are slowed down
_FAILURES_RATE = f"{_FREE_FAILURES}/h"
_DEVICE_WAITS = 2  # seconds, for another known device
_hashing, _hashing_for_devices = Lock(), Lock()
log = structlog.get_logger(__name__)


class LoginLimitExceeded(CapReached):
    """This address has used up its login attempts."""

    code = "login_limit_exceeded"
    made = "attempts to log in"


class LoginTooSoon(LoginLimitExceeded):
    """This address has just tried an account at which many attempts have failed."""

    code = "login_too_soon"

    def __init__(self, *, limit: int, window_seconds: int, seconds_left: int) -> None:
        super().__init__(limit=limit, window_seconds=window_seconds, seconds_left=seconds_left)
        self.message = f"Many attempts at this account have failed. Try again in {counted(seconds_left, 'second')}."


@contextmanager
def _place(lock: Lock, *, waits: float) -> Iterator[None]:
    """In the block, this thread alone checks a password in this place. Raises ValidationError."""
    if not lock.acquire(timeout=waits):
        raise ValidationError("Somebody else is logging in at this moment. Try again.", code="login_busy")
    try:
        yield
    finally:
        lock.release()


class LoginForm(AuthenticationForm):
    """Counts attempts, also successful ones, per address, so users at other addresses are never locked out."""

    def clean(self) -> dict[str, Any]:
        account = self.cleaned_data.get("username", "")  # whether or not it exists: no answer tells
        address = client_address(self.request) if self.request else ""
        known = self.request is not None and (
            is_known_device(self.request, account=account) or is_known_place(address, account=account)
        )
        if known:
            with _place(_hashing_for_devices, waits=_DEVICE_WAITS):
                return self._checked(account, address, known=True)
        with _place(_hashing, waits=0):
            return self._checked(account, address, known=False)

    def _checked(self, account: str, address: str, *, known: bool) -> dict[str, Any]:
        if not known:
            self._count(account, address)
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            _note_failure(account, address)
            raise
        return cleaned

    def _count(self, account: str, address: str) -> None:
        try:
            if wait := _wait(account):
                count_towards(LoginTooSoon, address=address, app_id=account, rate=f"1/{wait}s")
            count_towards(LoginLimitExceeded, address=address, rate=settings.ADMIN_LOGIN_LIMIT)
        except LoginLimitExceeded as exceeded:
            raise ValidationError(exceeded.message, code=exceeded.code) from None


def _wait(account: str) -> int:
    """For how many seconds an address has to wait between two attempts at this account; 0: not at all."""
    beyond = counted_so_far(_FAILURES, app_id=account, address="", rate=_FAILURES_RATE) - _FREE_FAILURES
    return int(min(2 ** min(beyond, 10), LONGEST_WAIT)) if beyond >= 0 else 0


def _note_failure(account: str, address: str) -> None:
    count_within(_FAILURES, app_id=account, address="", rate=_FAILURES_RATE)
    if wait := _wait(account):  # begins with this attempt
        count_within(LoginTooSoon.code, app_id=account, address=address, rate=f"1/{wait}s")
    account_id = User.objects.filter(username=account).values_list("pk", flat=True).first()
    log.warning("login_failed", account_id=account_id)
    # Not what was typed, where it is no account: it may be a password.
    record_failed_login(account_id, account if account_id else "")
