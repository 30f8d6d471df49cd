"""What the audit tells of a record: its columns, without secrets, what is personal and what changes by itself."""

import json
from collections.abc import Mapping
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BinaryField, Field, Model

from engage.database.encrypted_fields import EncryptedTextField
from engage.database.table import is_personal
from engage.notations.sizes import KIB

Facts = Mapping[str, Any]
Changes = dict[str, tuple[Any, Any]]
SECRET = "***"  # noqa: S105 (stands in the place of one)
_UNTOLD = frozenset(
    {"id", "workspace", "created_at", "updated_at", "key_orders", "last_used_at", "last_used_from", "last_login"}
)
_LONGEST = 32 * KIB
_TOO_LONG = "(longer than 32 KiB)"


def is_secret(field: Field[Any, Any] | None, name: str) -> bool:
    """Whether the values of this column, or of a form's field of this name, are told to nobody."""
    return isinstance(field, BinaryField | EncryptedTextField) or "password" in name or "secret" in name


def facts_of(record: Model) -> dict[str, Any]:
    """The record's columns by name, as they are now."""
    told = [field for field in record._meta.concrete_fields if field.name not in _UNTOLD and not field.primary_key]
    return {field.name: _fact(field, getattr(record, field.attname)) for field in told}


def _fact(field: Field[Any, Any], value: Any) -> Any:
    if not (is_secret(field, field.name) or is_personal(field.model, field.name)):
        return value
    return (SECRET, bytes(value) if isinstance(field, BinaryField) else value) if value else None  # compared only


def changes_between(before: Facts, after: Facts) -> Changes:
    """What differs: by name, the value before and the one after. Of a secret only that it differs."""
    names = [*before, *(name for name in after if name not in before)]
    return {
        name: (_told(before.get(name)), _told(after.get(name))) for name in names if before.get(name) != after.get(name)
    }


def _told(value: Any) -> Any:
    """The value as JSON; of a secret and of what is long, that it is there."""
    if isinstance(value, tuple):
        return SECRET
    written = json.dumps(value, cls=DjangoJSONEncoder)
    return json.loads(written) if len(written) <= _LONGEST else _TOO_LONG
