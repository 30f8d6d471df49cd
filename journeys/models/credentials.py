"""Columns that hold receivers' credentials: the headers of webhooks, which are stored encrypted."""

from collections.abc import Callable, Mapping
from typing import Any

from django.db import models

from engage.credentials.encryption import (
    UnknownEncryptionKey,
    decrypted,
    decrypted_json,
    encrypted,
    encrypted_json,
)
from engage.credentials.sealed import is_sealed
from engage.database.encrypted_fields import OpenedWhenRead, Stored
from journeys.steps.secrets import with_secrets

# Beside the headers of a request stands the URL that it really goes to, where that is a secret. No header is called so.
SECRET_URL = ":url"  # noqa: S105 (its name)
_NO_CREDENTIAL = frozenset({"content-type"})


class EncryptedHeadersField(models.JSONField):
    """The headers of a request, by name."""

    descriptor_class = OpenedWhenRead

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002
        kept = value if isinstance(value, Mapping) and holds_no_credential(value) else encrypted_json(value)
        return super().get_db_prep_value(kept, connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return Stored(super().from_db_value(value, expression, connection), decrypted_json)


class StepsField(models.JSONField):
    """The steps of a revision, in which secrets are encrypted, one by one.

    A value that cannot be decrypted is read as it is stored: only the request that needs it has to wait.
    """

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002
        return super().get_db_prep_value(_each_changed(value, encrypted), connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return _each_changed(super().from_db_value(value, expression, connection), _decrypted_if_possible)


class RequestField(models.JSONField):
    """A request, such as a connection's, in which secrets are encrypted, one by one; read as StepsField is."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002
        return super().get_db_prep_value(_changed(value, encrypted), connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return _changed(super().from_db_value(value, expression, connection), _decrypted_if_possible)


def _decrypted_if_possible(stored: str) -> str:
    try:
        return decrypted(stored)
    except UnknownEncryptionKey:
        return stored


def holds_no_credential(headers: Mapping[str, Any]) -> bool:
    """Whether the headers are those that every request has: they are stored as they are, which costs nothing."""
    return all(name.lower() in _NO_CREDENTIAL for name in headers)


def holds_sealed(steps: Any) -> bool:
    """Whether the steps, as they are read, have a secret that cannot be decrypted."""
    found: list[bool] = []

    def look(value: str) -> str:
        found.append(is_sealed(value))
        return value

    _each_changed(steps, look)
    return any(found)


def stored_headers(headers: Mapping[str, str], secret_url: str | None) -> Any:
    """The headers, with the URL if it is a secret, as the column's JSON holds them, for statements that the ORM does
    not write.
    """
    if secret_url is not None:
        headers = {**headers, SECRET_URL: secret_url}
    return dict(headers) if holds_no_credential(headers) else encrypted_json(dict(headers))


def _each_changed(steps: Any, change: Callable[[str], str]) -> Any:
    if not isinstance(steps, list):
        return steps
    return [_changed(step, change) for step in steps]


def _changed(request: Any, change: Callable[[str], str]) -> Any:
    return with_secrets(request, lambda _, value: change(value) if isinstance(value, str) else value)
