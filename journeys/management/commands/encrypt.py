"""`manage.py encrypt`: writes receivers' credentials and signing secrets anew, encrypted with the first key."""

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from engage.credentials.encryption import UnknownEncryptionKey, decrypted, encrypted
from engage.models import IdentityKey, Phone
from journeys.models import Connection, JourneyDraft, JourneyRevision, WebhookDelivery, WebhookSecret
from journeys.models.credentials import holds_sealed

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
        sealed = Counter(
            {model._meta.verbose_name_plural: self._write_anew(model, column) for model, column in _ENCRYPTED}
        )
        sealed["connections"] = self._write_changing_anew(Connection, "definition")
        sealed["journey drafts"] = self._write_changing_anew(JourneyDraft, "steps")
        sealed["phones"] = self._write_phones_anew()
        if sealed.total():
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in sealed.items() if number)
            raise CommandError(f"These stay as they are: ENCRYPTION_KEYS lacks the key of {kinds}.")

    def _write_anew(self, model: type[_Encrypted], column: str) -> int:
        """How many rows cannot be decrypted."""
        written, sealed, after = 0, 0, 0
        rows: Any = model.objects.order_by("pk").only("pk", column)
        while page := list(rows.filter(pk__gt=after)[:_PAGE]):
            readable = [row for row in page if _is_readable(row, column)]
            rows.bulk_update(readable, [column])
            written, sealed, after = written + len(readable), sealed + len(page) - len(readable), page[-1].pk
        self.stdout.write(f"{written:>12,} {model._meta.verbose_name_plural}")
        return sealed

    def _write_changing_anew(self, model: type[Connection | JourneyDraft], column: str) -> int:
        """One by one: somebody may change one meanwhile, which then is encrypted with the first key anyway."""
        written, sealed = 0, 0
        rows: Any = model.objects
        for row in rows.only(column, "updated_at"):
            value = getattr(row, column)
            if holds_sealed(value if isinstance(value, list) else [value]):
                sealed += 1
                continue
            written += rows.filter(pk=row.pk, updated_at=row.updated_at).update(**{column: value})
        self.stdout.write(f"{written:>12,} {model._meta.verbose_name_plural}")
        return sealed

    def _write_phones_anew(self) -> int:
        """One by one: a bulk update would cut them to the length that their model tells."""
        written, sealed = 0, 0
        for phone in Phone.objects.only("key"):
            try:
                key = decrypted(phone.key)
            except UnknownEncryptionKey:
                sealed += 1
            else:
                written += int(Phone.objects.filter(pk=phone.pk).update(key=encrypted(key)))
        self.stdout.write(f"{written:>12,} phones")
        return sealed


def _is_readable(row: _Encrypted, column: str) -> bool:
    try:
        value = getattr(row, column)
    except UnknownEncryptionKey:
        return False
    return not (isinstance(row, JourneyRevision) and holds_sealed(value))
