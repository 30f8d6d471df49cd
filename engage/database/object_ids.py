"""Ids of 24 lower-case hex characters: 4 bytes of seconds, then 8 random bytes.

Nobody can tell from some ids which others there are. Ids of one second are in no order: what must know which of two
rows came first keeps a time or a number.
"""

import os
import re
import time
from datetime import datetime
from typing import Annotated, Any, TypeVar

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from engage.json.keywords import Keywords

OBJECT_ID_LENGTH = 24
_PATTERN = re.compile(r"[0-9a-f]{24}")
ObjectId = Annotated[str, Keywords(pattern="^[0-9a-f]{24}$")]  # the type of an id in an answer
_Row = TypeVar("_Row", bound=models.Model)


_RANDOM_BYTES = 8
_READ_AT_ONCE = 512  # ids; a system call for each would take as long as all else

# Random parts not used yet. Threads need no lock: `pop` gives each part away once.
_random_parts: list[str] = []
# A forked process would otherwise go on with its parent's parts, and create the same ids.
os.register_at_fork(after_in_child=_random_parts.clear)


def new_object_id() -> str:
    """A new id, unique across processes and machines."""
    return f"{int(time.time()):08x}{_random_part()}"


def new_object_ids(number: int) -> list[str]:
    """As many new ids, in their order: rows that are written together with them touch few pages of an index."""
    return sorted(new_object_id() for _ in range(number))


def first_id_at(instant: datetime) -> str:
    """How the ids of this second begin: ids from then on are not smaller."""
    return f"{int(instant.timestamp()):08x}"


def _random_part() -> str:
    while True:
        try:
            return _random_parts.pop()
        except IndexError:
            letters, width = os.urandom(_READ_AT_ONCE * _RANDOM_BYTES).hex(), 2 * _RANDOM_BYTES
            _random_parts.extend([letters[at : at + width] for at in range(0, len(letters), width)])


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
