"""Who needs a second factor, and who of them has shown it in this session."""

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_otp.plugins.otp_static.models import StaticDevice

from engage.admin.layers import PAGES
from engage.models import Membership

SUPERUSER, ALL = "superuser", "all"
REQUIRED_OF = (ALL, SUPERUSER, *Membership.Role.values)  # what SECOND_FACTOR may name
# Of the session: which recovery codes the account had when it began, or has got in it. Each new phone has new ones.
_CODES = "recovery_codes"
VOUCHED_UNTIL = "second_factor_elsewhere"  # of the session: until when a provider, which has asked for it, vouches


def _note(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    request.session[_CODES] = _codes_of(user)


user_logged_in.connect(_note, dispatch_uid="engage.admin.login.second_factor.stored")


def is_required(user: Any) -> bool:
    """Whether the SECOND_FACTOR setting asks it of this account, by any of its roles."""
    asked = set(settings.SECOND_FACTOR)
    if not asked:
        return False
    if ALL in asked or (user.is_superuser and SUPERUSER in asked):
        return True
    return not user.is_superuser and Membership.objects.filter(user=user, role__in=asked).exists()


def has_device(request: HttpRequest) -> bool:
    """Whether the account had a device when the session began, or has got one in it."""
    return request.session.get(_CODES) is not None


def note_device(request: HttpRequest) -> None:
    """The account has got a device in this session."""
    request.session[_CODES] = _codes_of(request.user)


def forget_device(request: HttpRequest) -> None:
    """The account's devices were taken away: the session goes on as one that begins now."""
    request.session[_CODES] = None


def _codes_of(user: Any) -> int | None:
    known: int | None = StaticDevice.objects.filter(user=user, confirmed=True).values_list("pk", flat=True).first()
    return known


def _log_in_anew(request: HttpRequest) -> str:
    """Ends the session. The page to log in leads back to the one that was asked for."""
    logout(request)
    back = {"next": request.get_full_path()} if request.method == "GET" else {}
    return reverse("admin:login", query=back)


class SecondFactorMiddleware:
    """Sends whoever owes a code to the page that asks for it, or to the page that sets a phone up.

    A phone that is set up or replaced ends all other sessions of its account.

    A provider vouches for a while only: its groups may say something else by now, so after that they log in anew.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        owed = self._owed(request)
        return redirect(owed) if owed else self._get_response(request)

    def _owed(self, request: HttpRequest) -> str | None:
        if not request.path.startswith(PAGES):
            return None
        own = [reverse("second_factor"), reverse("second_factor_set_up"), reverse("admin:logout")]
        if request.path in own:
            return None
        vouched_until = request.session.get(VOUCHED_UNTIL)
        if vouched_until is not None:
            return None if time.time() < vouched_until else _log_in_anew(request)
        user: Any = request.user
        if not user.is_authenticated or user.is_verified():
            return None
        if _is_from_before(request, user):
            return _log_in_anew(request)
        if has_device(request):
            return own[0]
        return own[1] if is_required(user) else None


def _is_from_before(request: HttpRequest, user: Any) -> bool:
    """Whether the account's phone was set up or replaced by another session since this one began."""
    return _codes_of(user) not in {None, request.session.get(_CODES)}
