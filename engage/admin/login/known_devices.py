"""Browsers and addresses from which staff have logged in before: they get in while strangers keep guessing.

A signed cookie names the device and the account, so it vouches for no other account. It gives a try and no more: who
has it still needs the password, and is treated as a stranger after a few tries an hour. So is an address from which the
audit knows a login to the account: it lets a new browser in.
"""

import secrets
from datetime import timedelta
from http import HTTPStatus
from ipaddress import ip_network
from typing import Any, Protocol

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from engage.audit.recording import change, record
from engage.database.sql import Statement
from engage.http.limits import count_within
from engage.models import AuditEntry

_COOKIE = "device"
_SALT = "engage.admin.login.known_devices"
_SECONDS = 30 * 86_400
_TRIES = "10/h"
# The audit has the whole address; one caller of IPv6 has a network of them (http/client_address.py).
_HAS_LOGGED_IN = Statement("""
SELECT EXISTS (
    SELECT FROM engage_auditentry
    WHERE object_id = {number} AND object_kind = 'user' AND action = 'logged_in' AND at > {since}
      AND address <<= {address}::inet
)
""")


class _Login(Protocol):
    def __call__(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse: ...


def remembering(login: _Login) -> _Login:
    """The login page, which gives the cookie to who has just logged in, and has the audit know."""

    def page(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        answer = login(request, extra_context)
        is_let_in = request.method == "POST" and answer.status_code == HTTPStatus.FOUND
        if is_let_in and request.user.is_authenticated:
            _remember(request, answer, account=request.user.get_username())
            record(change(AuditEntry.Action.LOGGED_IN, request.user))
        return answer

    return page


def is_known_device(request: HttpRequest, *, account: str) -> bool:
    """Whether somebody has logged in to this account with this browser, and it has not tried often lately; counts."""
    device = _device(request, account=account)
    return device is not None and count_within("known_devices", address=device, rate=_TRIES)


def is_known_place(address: str, *, account: str) -> bool:
    """Whether somebody has logged in to this account from this address, and it has not tried often lately; counts."""
    number = User.objects.filter(username=account).values_list("pk", flat=True).first()
    if number is None or not _is_network(address):
        return False
    since = timezone.now() - timedelta(seconds=_SECONDS)
    (is_one,) = _HAS_LOGGED_IN.column(number=str(number), since=since, address=address)
    return bool(is_one) and count_within("known_places", app_id=account, address=address, rate=_TRIES)


def _is_network(address: str) -> bool:
    """Or an address; a server on a Unix socket knows none."""
    try:
        ip_network(address)
    except ValueError:
        return False
    return True


def _device(request: HttpRequest, *, account: str) -> str | None:
    said = request.get_signed_cookie(_COOKIE, default="", salt=_SALT, max_age=_SECONDS)
    device, _, whose = (said or "").partition(".")
    return device if constant_time_compare(whose, _digest(account)) else None


def _remember(request: HttpRequest, answer: HttpResponse, *, account: str) -> None:
    device = _device(request, account=account) or secrets.token_hex(16)
    answer.set_signed_cookie(
        _COOKIE,
        f"{device}.{_digest(account)}",
        salt=_SALT,
        max_age=_SECONDS,
        path=request.path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _digest(account: str) -> str:
    """In place of the account's name, which is nobody's business who looks into the browser."""
    return salted_hmac(_SALT, account, algorithm="sha256").hexdigest()
