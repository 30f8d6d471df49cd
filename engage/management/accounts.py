"""Accounts that commands make and change."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.signals import post_save, pre_save

from engage.audit.acting import acting, command
from engage.audit.facts import Facts, facts_of
from engage.audit.recording import record, saved


def save_account(user: User) -> None:
    """Saves it in one transaction with the audit's entry; by then the password has its digest."""
    with transaction.atomic():
        before = _stored(user)
        user.save()
        record(*saved(user, before=before, after=facts_of(user)))


@contextmanager
def auditing_account_changes(name: str) -> Iterator[None]:
    """In the block, Django's command of this name saves accounts as `save_account` does.

    Signals do it, because nothing else can be put beside where it saves. The command asks for a password and makes its
    digest before: the transaction is of the save alone.
    """
    before: list[Facts | None] = []

    with acting(command(name)), ExitStack() as save:

        def begin(instance: User, **_: Any) -> None:
            save.enter_context(transaction.atomic())
            before[:] = [_stored(instance)]

        def end(instance: User, **_: Any) -> None:
            record(*saved(instance, before=before[0], after=facts_of(instance)))
            save.close()

        pre_save.connect(begin, sender=User)
        post_save.connect(end, sender=User)
        try:
            yield
        finally:
            pre_save.disconnect(begin, sender=User)
            post_save.disconnect(end, sender=User)


def _stored(user: User) -> Facts | None:
    return next((facts_of(one) for one in User.objects.filter(pk=user.pk)), None)
