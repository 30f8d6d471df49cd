"""Which names a template or a `$value` may begin with: one tree, and one check of what is written against it."""

from collections.abc import Mapping, Sequence

# Each name with those that may follow it; None: any.
Names = Mapping[str, "Names | None"]
NAMES: Names = {
    "customer": None,
    "api": {"payload": None, "properties": None},
    "event": {"name": None, "properties": None, "messageId": None, "deliveryId": None, "verified": None},
    "journey": {"id": None, "name": None},
    "enrollment": {"id": None},
    "entrance": {"id": None},
    "now": {},
    "vars": None,
}
_MOST_TOLD = 20


def may_have_a_value(path: Sequence[object], names: Names) -> bool:
    """Whether there may be such a value; names that are only known when it is rendered may lead to one."""
    known: Names | None = names
    for number, name in enumerate(path):
        if known is None or (number and not isinstance(name, str)):
            return True
        if name not in known:
            return False
        known = known[str(name)]
    return True


def names_in_words(names: Names) -> str:
    """What they may begin with: `names begin with customer, api.payload or now`."""
    *first, last = _beginnings(names)[:_MOST_TOLD]
    return f"names begin with {', '.join(first)} or {last}"


def _beginnings(names: Names) -> list[str]:
    found = []
    for name, following in names.items():
        found += [f"{name}.{inner}" for inner in _beginnings(following)] if following else [name]
    return found
