"""Columns that are stored encrypted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models.query_utils import DeferredAttribute

from engage.credentials.encryption import decrypted, encrypted


@dataclass(frozen=True)
class Stored:
    """A value as it is stored, and what opens it."""

    value: Any
    open: Callable[[Any], Any]


class OpenedWhenRead(DeferredAttribute):
    """A column whose value is decrypted when it is read.

    Of many rows each can so be loaded, although one cannot be decrypted: reading that value raises
    UnknownEncryptionKey.
    """

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        return value.open(value.value) if isinstance(value, Stored) else value

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.field.attname] = value


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    """A text, encrypted in the database. It cannot be searched for."""

    descriptor_class = OpenedWhenRead

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else encrypted(super().get_prep_value(value))

    def from_db_value(self, value: Any, _expression: Any, _connection: Any) -> Any:
        return None if value is None else Stored(value, decrypted)
