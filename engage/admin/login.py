"""The staff login form. Attempts are limited per client address."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from engage.caps import CapReached, count_towards
from engage.client_address import client_address


class LoginLimitExceeded(CapReached):
    """This address has used up its login attempts."""

    code = "login_limit_exceeded"
    made = "attempts to log in"


class LoginForm(AuthenticationForm):
    """Counts every attempt, also successful ones, per address, so users at other addresses are never locked out."""

    def clean(self) -> dict[str, Any]:
        address = client_address(self.request) if self.request else ""
        try:
            count_towards(LoginLimitExceeded, address=address, rate=settings.ADMIN_LOGIN_LIMIT)
        except LoginLimitExceeded as exceeded:
            raise ValidationError(exceeded.message, code=exceeded.code) from None
        cleaned: dict[str, Any] = super().clean()
        return cleaned
