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
    """`read` refuses what is wrong in the file; `seed` stores what it gave, and returns the ids by key.

    `write` gives what is stored as items, in the order of their keys.
    """

    read: Callable[[Part], Any]
    seed: Callable[[Workspace, Any], Mapping[str, str]]
    write: Callable[[Workspace], list[dict[str, Any]]]


SECTIONS: dict[str, Section] = {}
