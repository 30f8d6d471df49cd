"""`manage.py reset_second_factor NAME`: takes the second factor from an account whose phone and codes are lost."""

import argparse
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from engage.alerts import Cause, note_at_once
from engage.audit.acting import acting, command
from engage.audit.recording import change, record
from engage.models import AuditEntry


class Command(BaseCommand):
    help = "Takes phones and recovery codes from an account. Where it needs a second factor, it sets up a new one."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="the account's user name")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no account {name!r}.")
        with acting(command("reset_second_factor")), transaction.atomic():
            taken = [model.objects.filter(user=user).delete()[0] for model in (TOTPDevice, StaticDevice)]
            if any(taken):
                record(change(AuditEntry.Action.CHANGED, user, note="The second factor was taken away."))
                says = f"The second factor of the account {name!r} was taken away."
                note_at_once(Cause(workspace_id=None, rule="EngageSecondFactorReset", about=name, says=says))
        self.stdout.write("Done: it sets up a new one." if any(taken) else "It had none.")
