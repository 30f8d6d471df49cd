"""The two forms of the OpenAPI document, which are made from one description.

The plain form is served. Clients are generated from it, so it has what every generator reads: types, names, bounds and
words. The strict form also has what only JSON Schema says: the second spelling of a field, rules between fields, the
codes that an answer may have, all texts that it may hold, and that it holds nothing else. The tests hold the service
to it.

`x-strict` in a schema holds the keywords that it has in the strict form instead; None drops one.
"""

from typing import Any

from drf_spectacular.generators import SchemaGenerator

from engage.json.keywords import KNOWN_VALUES, STRICT

# Marks the schema of a failure that is no call's own. It stands in neither form.
IS_OF_EVERY_CALL = "x-is-of-every-call"


class StrictGenerator(SchemaGenerator):
    """Makes the strict form of the document: `StrictGenerator().get_schema(public=True)`."""


def plain_form(part: Any) -> Any:
    """The document, or a part of it, in its plain form."""
    match part:
        case dict() if isinstance(values := part.get(KNOWN_VALUES), list) and STRICT in part:
            listed = ", ".join(f"`{value}`" for value in values)
            told = f"{part.get('description', '')} Today one of {listed}; take others as well.".strip()
            return plain_form({name: value for name, value in part.items() if name != STRICT} | {"description": told})
        case dict():
            return {name: plain_form(value) for name, value in part.items() if name not in {STRICT, IS_OF_EVERY_CALL}}
        case list() | tuple():
            return [plain_form(item) for item in part]
        case _:
            return part


def strict_form(part: Any) -> Any:
    """The document, or a part of it, in its strict form."""
    match part:
        case dict() if STRICT in part:
            merged = {**part, **part[STRICT], STRICT: None}
            return strict_form({name: value for name, value in merged.items() if value is not None})
        case dict():
            return {name: strict_form(value) for name, value in part.items() if name != IS_OF_EVERY_CALL}
        case list() | tuple():
            return [strict_form(item) for item in part]
        case _:
            return part
