"""What several calls of the document have in common stands once, as a component that they refer to."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from engage.calls.schema.responses import codes_of, is_of_every_call
from engage.calls.schema.shapes import Schema


class _Place(NamedTuple):
    """Where something stands that may become a component of this name."""

    container: Any
    key: Any
    name: str

    @property
    def content(self) -> Schema:
        found: Schema = self.container[self.key]
        return found


def share(operations: list[Schema], components: Schema) -> None:
    """Replaces parameters, headers and failures that stand in several operations by references.

    Of the failures, only those that are no call's own: what is a call's own is to be read with it.
    """
    _share("parameters", [*_parameters(operations)], components)
    _share("headers", [*_headers(operations)], components)
    _share("responses", [*_failures(operations)], components)


def _parameters(operations: list[Schema]) -> Iterator[_Place]:
    for operation in operations:
        for position, parameter in enumerate(operation["parameters"]):
            yield _Place(operation["parameters"], position, parameter["name"])


def _headers(operations: list[Schema]) -> Iterator[_Place]:
    for operation in operations:
        for response in operation["responses"].values():
            for name in response["headers"]:
                yield _Place(response["headers"], name, name)


def _failures(operations: list[Schema]) -> Iterator[_Place]:
    for operation in operations:
        for status, response in operation["responses"].items():
            if is_of_every_call(response):
                names = [code.title().replace("_", "") for code in codes_of(response)]
                yield _Place(operation["responses"], status, "Or".join(names))


def _share(kind: str, places: list[_Place], components: Schema) -> None:
    shared = components.setdefault(kind, {})
    counted = Counter(json.dumps(place.content) for place in places)
    for place in places:
        if "$ref" in place.content or counted[json.dumps(place.content)] == 1:
            continue
        if shared.setdefault(place.name, place.content) == place.content:
            place.container[place.key] = {"$ref": f"#/components/{kind}/{place.name}"}
