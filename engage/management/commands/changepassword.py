"""`manage.py changepassword`, which tells the audit."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from engage.management.accounts import auditing_account_changes


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with auditing_account_changes("changepassword"):
            return super().handle(*args, **options)
