"""Rows of a statement by the names of their columns."""

from typing import Any

from django.db.backends.utils import CursorWrapper


def named_rows(cursor: CursorWrapper) -> list[dict[str, Any]]:
    """All rows that the cursor's statement has given, each as its columns' values by name."""
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
