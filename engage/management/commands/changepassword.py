"""`manage.py changepassword`, which tells the audit."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from engage.management.accounts import telling_of_accounts


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with telling_of_accounts("changepassword"):
            return super().handle(*args, **options)
