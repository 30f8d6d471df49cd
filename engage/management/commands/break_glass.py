"""`manage.py break_glass`: an account for the day when nobody else gets in, made in the server's shell alone."""

import argparse
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.crypto import get_random_string

from engage.admin.login.second_factor.stored import replace_recovery_codes
from engage.audit.acting import acting, command
from engage.credentials.break_glass import SECONDS, token_of
from engage.management.accounts import save_account

_NAME = "break-glass"


class Command(BaseCommand):
    help = (
        "Makes the superuser break-glass with a new password and one code for a second factor, and prints both, and a "
        "link that logs in once, also while others keep guessing passwords. Its earlier password, codes, sessions and "
        "links hold no more. --end closes the account."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--end", action="store_true", help="close the account")

    def handle(self, *args: Any, end: bool, **options: Any) -> None:
        with acting(command("break_glass")):
            if end:
                self._close()
            else:
                self._make()

    def _close(self) -> None:
        user = User.objects.filter(username=_NAME, is_active=True).first()
        if user is None:
            raise CommandError("There is no such account, or it is closed.")
        user.is_active = False
        save_account(user)
        self.stdout.write(f"The account {_NAME} is closed.")

    def _make(self) -> None:
        password = get_random_string(24)
        user = User.objects.filter(username=_NAME).first() or User(username=_NAME)
        user.is_staff = user.is_superuser = user.is_active = True
        user.set_password(password)
        try:
            with transaction.atomic():
                save_account(user)
                (code,) = replace_recovery_codes(user, number=1)
        except IntegrityError:
            raise CommandError("Somebody else is making it at this moment. Once more, if you need it.") from None
        for what, value in (
            ("user", _NAME),
            ("password", password),
            ("code", f"{code}  (asked for after the password or the link)"),
            ("link", f"{reverse('break_glass', args=[token_of(user)])}  (once, for {SECONDS // 60} minutes)"),
        ):
            self.stdout.write(f"{what:<9} {value}")
        self.stdout.write("Close the account afterwards: manage.py break_glass --end")
