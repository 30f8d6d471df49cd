"""`manage.py encrypt`: writes receivers' credentials and signing secrets anew, encrypted with the first key."""

from typing import Any

from django.core.management.base import BaseCommand

from engage.encryption import decrypted, encrypted
from engage.models import IdentityKey, Phone
from journeys.models import JourneyRevision, WebhookDelivery, WebhookSecret

_PAGE = 500
_Encrypted = IdentityKey | WebhookSecret | JourneyRevision | WebhookDelivery
# What is encrypted never changes once it is written, so nobody's change can be lost.
_ENCRYPTED: tuple[tuple[type[_Encrypted], str], ...] = (
    (WebhookSecret, "secret"),
    (IdentityKey, "secret"),
    (JourneyRevision, "steps"),
    (WebhookDelivery, "headers"),
)


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = (
        "Encrypt what is to be encrypted with the first of ENCRYPTION_KEYS: once after an upgrade from a version that "
        "did not, and after a new key was put before the old one, which may then be removed. It may run under traffic "
        "and be repeated."
    )

    def handle(self, **_: Any) -> None:
        for model, column in _ENCRYPTED:
            self.stdout.write(f"{_write_anew(model, column):>12,} {model._meta.verbose_name_plural}")
        self.stdout.write(f"{_write_phones_anew():>12,} phones")


def _write_anew(model: type[_Encrypted], column: str) -> int:
    """How many rows there are."""
    written, after = 0, 0
    rows: Any = model.objects.order_by("pk").only("pk", column)
    while page := list(rows.filter(pk__gt=after)[:_PAGE]):
        rows.bulk_update(page, [column])
        written, after = written + len(page), page[-1].pk
    return written


def _write_phones_anew() -> int:
    """One by one: a bulk update would cut them to the length that their model tells."""
    written = 0
    for phone in Phone.objects.only("key"):
        written += int(Phone.objects.filter(pk=phone.pk).update(key=encrypted(decrypted(phone.key))))
    return written
