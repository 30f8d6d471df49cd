"""The pages that send a browser to the provider, and take it back."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from mozilla_django_oidc.views import OIDCAuthenticationRequestView

from engage.admin.login.openid.accounts import LoginDenied, account_of
from engage.admin.login.openid.provider import (
    InvalidIdToken,
    LoginsUnderWay,
    ProviderUnavailable,
    asking,
    claims_of,
    setting,
)
from engage.admin.login.passwords import LoginLimitExceeded
from engage.admin.login.second_factor.requirement import VOUCHED_UNTIL
from engage.audit.recording import change, record
from engage.audit.refusals import record_failed_login
from engage.errors import Refusal
from engage.http.client_address import client_address
from engage.http.limits import CapReached, count_towards
from engage.models import AuditEntry
from engage.process.request_log import current_request_id

_STATES, _NEXT = "oidc_states", "oidc_login_next"  # the library's, in the session
_Page = Callable[[HttpRequest], HttpResponse]
log = structlog.get_logger(__name__)


class TooManyStrayAnswers(CapReached):
    """This address has brought many answers that its browser has not asked for."""

    code = "openid_stray_limit_exceeded"
    made = "answers that nobody has asked for"


class _Begin(OIDCAuthenticationRequestView):  # type: ignore[misc] # it has no types
    get_settings = staticmethod(setting)


def _show_refusals(page: _Page) -> _Page:
    """The page, or one that tells why nobody gets in."""

    @wraps(page)
    def answer(request: HttpRequest) -> HttpResponse:
        try:
            return page(request)
        except (CapReached, LoginsUnderWay, ProviderUnavailable) as refusal:
            return _refused(request, refusal)
        except (LoginDenied, InvalidIdToken) as refusal:
            _note_failure(refusal)
            return _refused(request, refusal)

    return answer


@never_cache
@require_GET
@_show_refusals
def begin(request: HttpRequest) -> HttpResponse:
    """Sends the browser to the provider. Each time counts as an attempt: what comes back needs one, and only once."""
    count_towards(LoginLimitExceeded, address=client_address(request), rate=settings.ADMIN_LOGIN_LIMIT)
    answer: Any = _Begin.as_view()(request)
    return HttpResponseRedirect(answer.url)


@never_cache
@require_GET
@_show_refusals
def callback(request: HttpRequest) -> HttpResponse:
    """Logs in whom the provider vouches for, in answer to what this browser's session has asked."""
    code = request.GET.get("code")
    if not code or request.GET.get("state") not in (request.session.get(_STATES) or {}):
        count_towards(TooManyStrayAnswers, address=client_address(request), rate=settings.ADMIN_LOGIN_LIMIT)
        raise InvalidIdToken
    with asking():  # who is refused here has used up nothing, and may load the page again
        asked = _asked(request)
        claims = claims_of(request, code=code, nonce=asked["nonce"], code_verifier=asked["code_verifier"])
    user = account_of(claims)
    goes_on = request.session.get(_NEXT)  # looked at when it was kept
    with transaction.atomic():
        login(request, user)  # gives the session another key
        request.session[VOUCHED_UNTIL] = time.time() + settings.OIDC_SESSION_SECONDS
        record(change(AuditEntry.Action.LOGGED_IN, user))
    return HttpResponseRedirect(goes_on or reverse("admin:index"))


def _asked(request: HttpRequest) -> dict[str, Any]:
    """What was sent along with this state by this browser, which is then used up."""
    states = request.session[_STATES]
    asked: dict[str, Any] = states.pop(request.GET["state"])
    request.session[_STATES] = states
    request.session.save()  # before it can be used a second time
    return asked


def _note_failure(refusal: LoginDenied | InvalidIdToken) -> None:
    name = refusal.account if isinstance(refusal, LoginDenied) else ""
    account_id = User.objects.filter(username=name).values_list("pk", flat=True).first() if name else None
    log.warning("login_failed", account_id=account_id, reason=refusal.code)
    record_failed_login(account_id, name, note=refusal.message)


def _refused(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    context = {
        "title": "You are not logged in",
        "why": refusal.message,
        "again": reverse("admin:login"),
        "try_again": "To the login",
        "request_id": current_request_id(),
    }
    answer = render(request, "engage/admin/failure.html", context, status=refusal.status)
    for name, value in refusal.headers.items():
        answer[name] = value
    return answer
