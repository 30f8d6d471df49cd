"""Merge patches (RFC 7396)."""

from typing import Any


def merged(target: Any, patch: Any) -> Any:
    """The target as the patch has it: null takes a member away, objects are merged, and anything else takes its place.

    Neither is changed; members keep their order.
    """
    if not isinstance(patch, dict):
        return patch
    whole = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            whole.pop(name, None)
        else:
            whole[name] = merged(whole.get(name), value)
    return whole
