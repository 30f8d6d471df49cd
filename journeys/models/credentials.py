"""Columns that hold receivers' credentials: the headers of webhooks, which are stored encrypted."""

from collections.abc import Callable, Mapping
from typing import Any

from django.db import models

from engage.database.encrypted_fields import OpenedWhenRead, Stored
from engage.encryption import UnknownEncryptionKey, decrypted, decrypted_json, encrypted, encrypted_json
from engage.sealed import is_sealed

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
    """The steps of a revision, in which the values of headers are encrypted, one by one.

    A value that cannot be decrypted is read as it is stored: only the request that needs it has to wait.
    """

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002
        return super().get_db_prep_value(_with_headers(value, encrypted), connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return _with_headers(super().from_db_value(value, expression, connection), _decrypted_if_possible)


def _decrypted_if_possible(stored: str) -> str:
    try:
        return decrypted(stored)
    except UnknownEncryptionKey:
        return stored


def holds_no_credential(headers: Mapping[str, Any]) -> bool:
    """Whether the headers are those that every request has: they are stored as they are, which costs nothing."""
    return all(name.lower() in _NO_CREDENTIAL for name in headers)


def holds_sealed_header(steps: Any) -> bool:
    """Whether the steps, as they are read, have a header that cannot be decrypted."""
    headers = [step.get("headers") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    return any(is_sealed(value) for one in headers if isinstance(one, dict) for value in one.values())


def stored_headers(headers: Mapping[str, str]) -> Any:
    """The headers as the column's JSON holds them, for statements that the ORM does not write."""
    return dict(headers) if holds_no_credential(headers) else encrypted_json(dict(headers))


def _with_headers(steps: Any, change: Callable[[str], str]) -> Any:
    if not isinstance(steps, list):
        return steps
    return [_with_headers_of_step(step, change) for step in steps]


def _with_headers_of_step(step: Any, change: Callable[[str], str]) -> Any:
    headers = step.get("headers") if isinstance(step, dict) else None
    if not isinstance(headers, dict):
        return step
    changed = {name: change(value) if isinstance(value, str) else value for name, value in headers.items()}
    return {**step, "headers": changed}
