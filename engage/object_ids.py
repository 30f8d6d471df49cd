"""Ids of 24 lower-case hex characters: 4 bytes of seconds, 5 random bytes per process, a counter of 3 bytes."""

import os
import re
import secrets
import threading
import time
from typing import Annotated, Any, TypeVar

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from engage.keywords import Keywords

OBJECT_ID_LENGTH = 24
_PATTERN = re.compile(r"[0-9a-f]{24}")
ObjectId = Annotated[str, Keywords(pattern="^[0-9a-f]{24}$")]  # the type of an id in an answer
_COUNTER_LIMIT = 1 << 24
_Row = TypeVar("_Row", bound=models.Model)


class _Sequence:
    """The random part and the counter of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reseed()

    def reseed(self) -> None:
        self._random = secrets.token_hex(5)
        self._count = secrets.randbelow(_COUNTER_LIMIT)

    def next(self) -> str:
        with self._lock:
            self._count = (self._count + 1) % _COUNTER_LIMIT
            return f"{int(time.time()):08x}{self._random}{self._count:06x}"


_sequence = _Sequence()
# A forked process would otherwise continue with its parent's random part and counter, and create the same ids.
os.register_at_fork(after_in_child=_sequence.reseed)


def new_object_id() -> str:
    """A new id, unique across processes and machines."""
    return _sequence.next()


def is_object_id(text: str) -> bool:
    """Whether the text has the form of an id (24 lower-case hex characters)."""
    return _PATTERN.fullmatch(text) is not None


def row_with_id(rows: models.QuerySet[_Row], text: str) -> _Row | None:
    """The row with this id, or None. A text that does not have the form of an id costs no query."""
    return rows.filter(pk=text).first() if is_object_id(text) else None


class ObjectIdField(models.CharField[str, str]):
    """A primary key of the form above, compared byte by byte."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs |= {"max_length": OBJECT_ID_LENGTH, "db_collation": "C", "editable": False}
        kwargs.setdefault("default", new_object_id)
        super().__init__(*args, **kwargs)

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        """Not "varchar", for which Django adds a second index for LIKE; the "C" collation makes it unnecessary."""
        return f"character varying({OBJECT_ID_LENGTH})"

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        name, path, args, kwargs = super().deconstruct()
        for fixed in ("max_length", "db_collation", "editable"):
            kwargs.pop(fixed, None)
        return name, path, args, kwargs
