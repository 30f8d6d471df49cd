"""Columns that are stored encrypted."""

from typing import Any

from django.db import models

from engage.encryption import decrypted, encrypted


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    """A text, encrypted in the database. It cannot be searched for."""

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else encrypted(super().get_prep_value(value))

    def from_db_value(self, value: Any, _expression: Any, _connection: Any) -> Any:
        return None if value is None else decrypted(value)
