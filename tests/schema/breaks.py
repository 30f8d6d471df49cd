"""What of an OpenAPI document would break for those who call by an older one."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

Document = Mapping[str, Any]
Schema = Mapping[str, Any]
_LEAST, _MOST = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")


class Breaks:
    """Iterates over the breaks, each as its place and what is the matter there."""

    def __init__(self, old: Document, new: Document) -> None:
        self._old, self._new = old, new
        self._found: dict[str, None]
        self._seen: set[tuple[Any, ...]]

    def __iter__(self) -> Iterator[str]:
        self._found, self._seen = {}, set()
        for path, methods in self._old["paths"].items():
            for method, operation in methods.items():
                where, now = f"{method.upper()} {path}", self._new["paths"].get(path, {}).get(method)
                if self._holds(now is not None, f"{where} is gone"):
                    self._operation(where, operation, now)
        return iter(self._found)

    def _holds(self, holds: bool, why: str) -> bool:
        if not holds:
            self._found[why] = None
        return holds

    def _operation(self, where: str, old: Schema, new: Schema) -> None:
        for name in ("operationId", "security", "x-required-scope"):
            self._holds(old.get(name) == new.get(name), f"{where}: another {name}")
        before, after = self._parameters(self._old, old), self._parameters(self._new, new)
        for place, one in before.items():
            if self._holds(place in after, f"{where}: {place} is gone"):
                self._holds(one.get("required") or not after[place].get("required"), f"{where}: {place} is required")
                self._schema(f"{where}: {place}", one["schema"], after[place]["schema"], sent=True)
        for place in after.keys() - before.keys():
            self._holds(not after[place].get("required"), f"{where}: {place} is new and required")
        body, now = old.get("requestBody", {}), new.get("requestBody", {})
        self._holds(body.get("required") or not now.get("required"), f"{where}: its body is required")
        self._content(f"{where}: body", body, now, sent=True)
        for status, answer in old["responses"].items():
            if self._holds(status in new["responses"], f"{where}: {status} is gone"):
                one, other = self._of(self._old, answer), self._of(self._new, new["responses"][status])
                missing = one.get("headers", {}).keys() - other.get("headers", {}).keys()
                self._holds(not missing, f"{where}: {status} lacks {', '.join(sorted(missing))}")
                self._content(f"{where}: {status}", one, other, sent=False)

    def _parameters(self, document: Document, operation: Schema) -> dict[str, Schema]:
        each = (self._of(document, one) for one in operation.get("parameters", []))
        return {f"{one['in']} {one['name']}": one for one in each}

    def _content(self, where: str, old: Schema, new: Schema, *, sent: bool) -> None:
        for kind, content in old.get("content", {}).items():
            if self._holds(kind in new.get("content", {}), f"{where}: no {kind}"):
                self._schema(where, content["schema"], new["content"][kind]["schema"], sent=sent)

    def _schema(self, where: str, old: Schema, new: Schema, *, sent: bool) -> None:
        name = old.get("$ref", "").rpartition("/")[2]
        if (key := (name, new.get("$ref"), sent)) in self._seen and name:
            return
        self._seen.add(key)
        where = f"{name} {'sent' if sent else 'answered'}" if name else where
        old, new = self._of(self._old, old), self._of(self._new, new)
        narrow, wide = (old, new) if sent else (new, old)  # whatever fits the first must fit the second
        null = {"null"} if sent else set[str]()  # which counts as absent wherever it is sent
        self._holds(not _types(wide) or (_types(narrow) or {""}) - null <= _types(wide), f"{where}: another type")
        self._holds(not _choices(wide) or (_choices(narrow) or {""}) <= _choices(wide), f"{where}: other choices")
        self._holds(_fits(narrow, wide), f"{where}: another bound")
        for keyword in ("pattern", "format"):
            fits = keyword not in wide or wide[keyword] == narrow.get(keyword)
            self._holds(fits, f"{where}: another {keyword}")
        self._holds((old.get("default") or None) == (new.get("default") or None), f"{where}: another default")
        self._members(where, old, new, sent=sent)

    def _members(self, where: str, old: Schema, new: Schema, *, sent: bool) -> None:
        needed, had = (new, old) if sent else (old, new)
        for name in {*needed.get("required", [])} - {*had.get("required", [])}:
            self._holds(False, f"{where}.{name} is {'required' if sent else 'no longer always there'}")
        for name, one in old.get("properties", {}).items():
            if self._holds(name in new.get("properties", {}), f"{where}.{name} is gone"):
                self._schema(f"{where}.{name}", one, new["properties"][name], sent=sent)
        for name in ("items", "additionalProperties"):
            if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
                self._schema(f"{where}.{name}", old[name], new[name], sent=sent)

    def _of(self, document: Document, part: Schema) -> Schema:
        """What a reference leads to, and of several choices what holds for whatever is one of them."""
        if "$ref" in part:
            found: Any = document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            return self._of(document, found)
        choices = [self._of(document, one) for one in part.get("anyOf", part.get("oneOf", []))]
        if not choices:
            return part
        values = [one for one in choices if _types(one) != {"null"}]
        whole = dict(values[0]) if len(values) == 1 else _any_of(values)
        return {**whole, "type": sorted(set[str]().union(*map(_types, choices)))}


def _any_of(choices: Sequence[Schema]) -> dict[str, Any]:
    names = {name: None for one in choices for name in one.get("properties", {})}
    each = {name: [one["properties"][name] for one in choices if name in one.get("properties", {})] for name in names}
    required = set.intersection(*(set(one.get("required", [])) for one in choices))
    return {"properties": {name: {"anyOf": those} for name, those in each.items()}, "required": sorted(required)}


def _types(schema: Schema) -> set[str]:
    told = schema.get("type", [])
    return {told} if isinstance(told, str) else set(told)


def _choices(schema: Schema) -> set[Any]:
    """The values that it may have, as far as they are known; none if it may have any."""
    known = [schema["const"]] if "const" in schema else schema.get("enum", schema.get("x-extensible-enum", []))
    return {*known} - {None}


def _fits(narrow: Schema, wide: Schema) -> bool:
    """Whether what keeps to the bounds of the first keeps to those of the second."""
    least = all(name not in wide or narrow.get(name, -inf) >= wide[name] for name in _LEAST)
    return least and all(name not in wide or narrow.get(name, inf) <= wide[name] for name in _MOST)
