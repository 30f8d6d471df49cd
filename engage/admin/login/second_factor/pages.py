"""The pages that ask for a code, and that set a phone up."""

from typing import Any

import segno
import structlog
from django import forms
from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django_otp import login as note_code
from django_otp import user_has_device
from django_otp.plugins.otp_static import admin as _static_admin  # noqa: F401 (registers its page)
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp import admin as _totp_admin  # noqa: F401
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.widgets import UnfoldAdminTextInputWidget

from engage.admin.login.second_factor.requirement import forget_device, is_required, note_device
from engage.admin.login.second_factor.stored import device_that_takes, phone_to_set_up, replace_recovery_codes
from engage.audit.recording import Change, change, record
from engage.audit.refusals import record_failed_login
from engage.models import AuditEntry, Phone

log = structlog.get_logger(__name__)
# Their own pages show everybody's secrets, and a superuser needs none of them (manage.py reset_second_factor).
admin.site.unregister(TOTPDevice)
admin.site.unregister(StaticDevice)

_RECOVERY_CODES = 10
_WRONG = "That is not the code of this moment. After some wrong ones, wait a little before the next."


class CodeForm(forms.Form):
    code = forms.CharField(
        max_length=20,
        strip=True,
        widget=UnfoldAdminTextInputWidget(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )

    def clean_code(self) -> str:
        """As it is meant, however it is written down."""
        return str(self.cleaned_data["code"]).replace(" ", "").lower()


@never_cache
@login_required(login_url="admin:login")
def ask(request: HttpRequest) -> HttpResponse:
    """Takes a code of the phone, or one of the recovery codes, which is then used up.

    Whoever has neither, as after `manage.py reset_second_factor`, goes on as after a login: maybe to set one up.
    """
    if not user_has_device(request.user):
        forget_device(request)
        return redirect("admin:index")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            device = device_that_takes(form.cleaned_data["code"], user=request.user)
            if isinstance(device, StaticDevice):
                record(_told(request.user, "Used a recovery code."))
        if device is not None:
            note_code(request, device)
            return redirect("admin:index")
        _note_failure(request.user)
        form.add_error("code", _WRONG)
    return _page(request, "ask.html", "Second factor", form=form)


@never_cache
@login_required(login_url="admin:login")
def set_up(request: HttpRequest) -> HttpResponse:
    """Shows the secret of a new phone until a code of it has proven that it has arrived; then, once, recovery codes.

    Whoever has a phone set up already has to show a code of it first, and it is replaced.
    """
    user: Any = request.user
    if user_has_device(user) and not user.is_verified():
        return redirect("second_factor")
    device = phone_to_set_up(user)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if device.verify_token(form.cleaned_data["code"]):
            codes = _replace_by(device, user)
            note_device(request)
            note_code(request, device)
            return _page(request, "recovery_codes.html", "Recovery codes", codes=codes)
        form.add_error("code", _WRONG)
    shown = {"picture": _picture(device), "secret": _secret(device), "required": is_required(user)}
    return _page(request, "set_up.html", "Set up a second factor", form=form, **shown)


def _replace_by(device: Phone, user: Any) -> list[str]:
    """The new recovery codes. Earlier phones and codes hold no more."""
    with transaction.atomic():
        Phone.objects.filter(user=user).exclude(pk=device.pk).delete()
        device.confirmed = True
        device.save()
        record(_told(user, "Set up a second factor."))
        return replace_recovery_codes(user, number=_RECOVERY_CODES)


def _told(user: Any, note: str) -> Change:
    return change(AuditEntry.Action.CHANGED, user, note=note)


def _note_failure(user: Any) -> None:
    log.warning("login_failed", account_id=user.pk, reason="second_factor")
    record_failed_login(user.pk, user.get_username(), note="A code of the second factor was wrong.")


def _picture(device: Phone) -> SafeString:
    """The QR code, as SVG of our own making: it carries no text of the account's but inside the code."""
    return mark_safe(segno.make(device.config_url, micro=False).svg_inline(scale=5, dark="#000", light="#fff"))  # noqa: S308


def _secret(device: Phone) -> str:
    """The secret in Base32, in groups of four, to type it where no picture can be read."""
    text: str = device.config_url.partition("secret=")[2].partition("&")[0]
    return " ".join(text[place : place + 4] for place in range(0, len(text), 4))


def _page(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    # Without the sidebar: nothing of the admin may be read before the code.
    site = {**admin.site.each_context(request), "is_nav_sidebar_enabled": False, "available_apps": []}
    names = [f"engage/admin/second_factor/{template}"]
    return TemplateResponse(request, names, {**site, "title": title, "sidebar_navigation": [], **context})
