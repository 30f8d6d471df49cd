"""How two JSON values differ, line by line, for a page to show (engage/admin/diff.html)."""

from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from engage.admin.parts.columns import json_text

_HEADERS = 2  # lines of a unified diff that name the files
_KINDS = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True, kw_only=True)
class DiffLine:
    """A line of a diff. `kind` is added, removed, kept or place."""

    kind: str
    text: str


def diff_of(before: Any, after: Any) -> list[DiffLine]:
    """The lines that differ, with some around; none if the values are equal."""
    old, new = json_text(before).splitlines(), json_text(after).splitlines()
    lines = list(unified_diff(old, new, lineterm=""))[_HEADERS:]
    return [DiffLine(kind=_KINDS.get(line[0], "kept"), text=line) for line in lines]
