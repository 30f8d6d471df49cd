"""`manage.py break_glass`: an account for the day when nobody else gets in, made in the server's shell alone."""

import argparse
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.crypto import get_random_string
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

_NAME = "break-glass"


class Command(BaseCommand):
    help = (
        "Makes the superuser break-glass with a new password and one code for a second factor, and prints both. Its "
        "earlier password, codes and sessions hold no more. --end closes the account."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--end", action="store_true", help="close the account")

    def handle(self, *args: Any, end: bool, **options: Any) -> None:
        if end:
            if not User.objects.filter(username=_NAME, is_active=True).update(is_active=False):
                raise CommandError("There is no such account, or it is closed.")
            self.stdout.write(f"The account {_NAME} is closed.")
            return
        password, code = get_random_string(24), StaticToken.random_token()
        with transaction.atomic():
            flags = {"is_staff": True, "is_superuser": True, "is_active": True}
            user, _ = User.objects.update_or_create(username=_NAME, defaults=flags)
            user.set_password(password)
            user.save()
            StaticDevice.objects.filter(user=user).delete()
            StaticDevice.objects.create(user=user, name="break glass").token_set.create(token=code)
        for what, value in (
            ("user", _NAME),
            ("password", password),
            ("code", f"{code}  (asked for after the password)"),
        ):
            self.stdout.write(f"{what:<9} {value}")
        self.stdout.write("Close the account afterwards: manage.py break_glass --end")
