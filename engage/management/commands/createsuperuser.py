"""`manage.py createsuperuser`, which tells the audit."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from engage.management.accounts import auditing_account_changes


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with auditing_account_changes("createsuperuser"):
            return super().handle(*args, **options)
