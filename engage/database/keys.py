"""Keys: short names that people give, which may stand in paths and bodies wherever an id may."""

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from engage.database.object_ids import is_object_id
from engage.database.sql import Statement

# \Z, because $ also matches before a newline at the end.
key_validator = RegexValidator(r"^[a-z0-9][a-z0-9_-]*\Z", "Use lower-case letters, digits, - and _.")
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_WORDS_OF_PATHS = frozenset({"jobs", "triggers", "enrollments", "batch", "merge", "events"})


def refuse_ambiguous_key(key: str) -> None:
    """Raises ValidationError for a new key that, in a path, would be taken for something else.

    A slash is refused by the validator already.
    """
    if is_object_id(key):
        raise ValidationError("A key of 24 hexadecimal digits would be taken for an id; choose another.")
    if key in _WORDS_OF_PATHS:
        raise ValidationError(f"{key} is a word of the paths of calls; choose another key.")


def is_key(text: str) -> bool:
    """Whether the text, in place of an id, can be meant as a key."""
    return _KEY.fullmatch(text) is not None and not is_object_id(text)


def id_of_key(table: str) -> Callable[..., str | None]:
    """What finds the id of the workspace's row with a key, in one statement; None if there is no such row."""
    known = Statement("SELECT id FROM {table} WHERE workspace_id = {workspace_id} AND key = {key}", table=table)

    def find(*, workspace_id: str, key: str) -> str | None:
        return next(iter(known.column(workspace_id=workspace_id, key=key)), None)

    return find


def named_by(names: Collection[str]) -> Q:
    """Selects the records that have one of these as their id or key. What has the form of an id is no key."""
    ids = [name for name in names if is_object_id(name)]
    keys = [name for name in names if not is_object_id(name)]
    return Q(id__in=ids) | Q(key__in=keys) if keys else Q(id__in=ids)


def names_of_none(names: Iterable[str], found: Iterable[Any]) -> list[str]:
    """Those of the names, in their order, that none of the records found has as its id or key."""
    known = {name for one in found for name in (one.id, one.key) if name == one.id or not is_object_id(name)}
    return [name for name in dict.fromkeys(names) if name not in known]


class KeyField(models.CharField[str, str]):
    """The key of a record, unique in its workspace. One that an earlier version has let in may stay."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 100)
        kwargs.setdefault("validators", [key_validator])
        super().__init__(*args, **kwargs)

    def validate(self, value: Any, model_instance: Any) -> None:
        super().validate(value, model_instance)
        try:
            refuse_ambiguous_key(value)
        except ValidationError:
            within = {"workspace": own} if (own := getattr(model_instance, "workspace_id", None)) else {}
            if not type(model_instance).objects.filter(key=value, **within).exists():
                raise

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs
