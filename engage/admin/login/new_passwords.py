"""Passwords that staff set: first their digest, which takes a fifth of a second, then the transaction that keeps it.

A transaction that waits for a processor holds its locks meanwhile, and PostgreSQL ends one that idles.
"""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from engage.audit.facts import SECRET
from engage.audit.recording import change, record
from engage.models import AuditEntry


def keep_password(user: User) -> None:
    """Stores the digest that the account has been given, with the audit's entry."""
    with transaction.atomic():
        user.save(update_fields=["password"])
        record(change(AuditEntry.Action.CHANGED, user, changes={"password": (SECRET, SECRET)}))


class KeepsPassword:
    """For forms of Django's that set a password: comes before them."""

    changed_data: Any = ()  # of which the admin would write a second entry

    def set_password_and_save(self, user: Any, *args: Any, commit: bool = True, **named: Any) -> Any:
        form: Any = super()
        form.set_password_and_save(user, *args, commit=False, **named)
        if commit:
            keep_password(user)
        return user
