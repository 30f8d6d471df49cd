"""What an author of conditions may mean: the attributes of a workspace's customers."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from engage.database.sql import Statement

_MOST_NAMES, _MOST_VALUES, _LONGEST_VALUE = 200, 8, 40
_OFTEN = 3  # customers of the latest who share a value, before it is offered

_PROFILES = Statement("""
SELECT attributes FROM customers_customer WHERE workspace_id = {workspace_id} ORDER BY id DESC LIMIT 200
""")


def attributes_known_in(workspace_id: str) -> list[dict[str, Any]]:
    """Those of the latest customers: `[{name, kind, values}]`, with the values that several have.

    `kind` is that of most values: "text", "number", "flag" or, for lists and objects, "".
    """
    profiles = [json.loads(text) for text in _PROFILES.column(workspace_id=workspace_id)]
    values: dict[str, Counter[Any]] = {}
    kinds: dict[str, Counter[str]] = {}
    for name, value in _members(profiles):
        kind = _kind(value)
        kinds.setdefault(name, Counter())[kind] += 1
        own = values.setdefault(name, Counter())
        if kind and len(str(value)) <= _LONGEST_VALUE:
            own[value] += 1
    return [
        {
            "name": name,
            "kind": kinds[name].most_common(1)[0][0],
            "values": [value for value, number in known.most_common(_MOST_VALUES) if number >= _OFTEN],
        }
        for name, known in sorted(values.items())[:_MOST_NAMES]
    ]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    return "text" if isinstance(value, str) else "number" if isinstance(value, int | float) else ""


def _members(profiles: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Any]]:
    return ((name, value) for profile in profiles for name, value in profile.items())
