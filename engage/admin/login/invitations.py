"""The page behind the link of an invitation, where a colleague sets a password."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from unfold.widgets import UnfoldAdminPasswordWidget

from engage.admin.login.new_passwords import keep_password
from engage.credentials.break_glass import taken, token_of

DAYS = 3
_SECONDS = DAYS * 86_400
_SALT = "engage.invitation"


class _PasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})


def invitation(user: User) -> str:
    """The token of a link that lets the account set its password within DAYS, once."""
    return token_of(user, salt=_SALT)


@sensitive_post_parameters()
@sensitive_variables("token")
@never_cache
def set_password(request: HttpRequest, token: str) -> HttpResponse:
    """Sets the password of whom the link is for. It holds no more once they have one, or have logged in."""
    user = taken(token, salt=_SALT, seconds=_SECONDS, locked=False)
    form = _PasswordForm(user, request.POST or None) if user else None
    if user and form and not form.is_valid():
        shown = {"form": form, "title": "Set your password", "name": user.get_username()}
        return TemplateResponse(request, "engage/admin/set_password.html", shown).render()
    if form is None or not _kept(form, token):
        raise PermissionDenied("This link holds no more. Ask whoever sent it for another one.")
    messages.success(request, "Your password is set. Log in with it.")
    return redirect("admin:login")


def _kept(form: _PasswordForm, token: str) -> bool:
    """Whether the link still held once the password's digest was made."""
    chosen = form.save(commit=False).password
    with transaction.atomic():
        user = taken(token, salt=_SALT, seconds=_SECONDS)
        if user is not None:
            user.password = chosen
            keep_password(user)
    return user is not None
