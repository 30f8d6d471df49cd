"""Accounts that commands make and change."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models.signals import post_save, pre_save

from engage.audit.acting import acting, command
from engage.audit.facts import Facts, facts_of
from engage.audit.recording import record, saved


@contextmanager
def auditing_account_changes(name: str) -> Iterator[None]:
    """In the block, which is a transaction, the command of this name saves accounts, and the audit is told of each.

    Signals tell, because Django's own commands save where nothing else can be put beside it.
    """
    before: dict[int, Facts] = {}

    def look(instance: User, **_: Any) -> None:
        before.update((one.pk, facts_of(one)) for one in User.objects.filter(pk=instance.pk))

    def tell(instance: User, **_: Any) -> None:
        record(*saved(instance, before=before.get(instance.pk), after=facts_of(instance)))

    with acting(command(name)), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # somebody types a password meanwhile
        pre_save.connect(look, sender=User)
        post_save.connect(tell, sender=User)
        try:
            yield
        finally:
            pre_save.disconnect(look, sender=User)
            post_save.disconnect(tell, sender=User)
