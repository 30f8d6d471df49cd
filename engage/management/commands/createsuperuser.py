"""`manage.py createsuperuser`, which tells the audit."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from engage.management.accounts import telling_of_accounts


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with telling_of_accounts("createsuperuser"):
            return super().handle(*args, **options)
