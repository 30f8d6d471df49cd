"""Parts of a seed file that apps above this one know: each says how it is read, and how it is stored.

An app adds its own when it is loaded, because imports go down only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engage.json.documents import Part
from engage.models import Workspace


@dataclass(frozen=True, kw_only=True)
class Section:
    """`read` refuses what is wrong in the file; `seed` stores what it gave, and returns the ids by key."""

    read: Callable[[Part], Any]
    seed: Callable[[Workspace, Any], Mapping[str, str]]


SECTIONS: dict[str, Section] = {}
