"""The payload of a call by hand: JSON, and a form of it where the journey says what it must be (`payloadSchema`)."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from engage.admin.parts.json_field import JsonField
from engage.json.compact import json_bytes
from engage.json.described import About, told
from engage.json.storable import STORED_DEPTH, depth
from engage.notations.sizes import KIB
from journeys.engine.entering.payloads import PayloadInvalid, require_payload

_DEEPEST = 3  # objects within each other that are forms; what is deeper is JSON
_KINDS = {"string": "plain", "integer": "whole", "number": "number"}
_YES_OR_NO = [[True, "Yes"], [False, "No"]]


class PayloadField(JsonField):
    """An object that keeps to the rules of a call: {} where nothing is written."""

    def __init__(self, *, most_bytes: int) -> None:
        super().__init__(named="payload", required=False, example='{"coupon": "WELCOME10"}')
        self.most_bytes = most_bytes
        self.schema: Mapping[str, Any] | None = None

    def meet(self, schema: Mapping[str, Any] | None) -> None:
        """Holds payloads to this schema; None: to none."""
        self.schema = schema
        if schema is not None and (form := form_of(schema)):
            self.offer(form)

    def clean(self, value: Any) -> dict[str, Any]:
        payload = super().clean(value)
        payload = {} if payload is None else payload
        if not isinstance(payload, dict):
            raise ValidationError("This must be an object.")
        if depth(payload) > STORED_DEPTH or json_bytes(payload) > self.most_bytes:
            raise ValidationError(
                f"This may be nested {STORED_DEPTH} deep, and hold {self.most_bytes // KIB} KiB of JSON."
            )
        try:
            require_payload(self.schema, payload)
        except PayloadInvalid as invalid:
            raise ValidationError(invalid.message) from None
        return payload


def form_of(schema: Mapping[str, Any]) -> About | None:
    """What an author is asked for of a payload; None where the schema names nothing."""
    fields = _fields(schema, depth=1)
    return {"name": "payload", **told("Payload", "object", fields=fields)} if fields else None


def defaults_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The values with which the schema has its names begin."""
    named = schema.get("properties", {})
    return {name: one["default"] for name, one in named.items() if isinstance(one, Mapping) and "default" in one}


def _fields(schema: Mapping[str, Any], *, depth: int) -> list[About]:
    """Those that are needed first, as `required` has them: the database keeps no order of names."""
    named = schema.get("properties", {})
    needed = [name for name in schema.get("required", ()) if name in named]
    return [
        _field(name, named[name] if isinstance(named[name], Mapping) else {}, is_needed=name in needed, depth=depth)
        for name in dict.fromkeys([*needed, *named])
    ]


def _field(name: str, schema: Mapping[str, Any], *, is_needed: bool, depth: int) -> About:
    label = f"{schema.get('title') or name}{' *' if is_needed else ''}"
    examples = [str(one) for one in schema.get("examples", ()) if isinstance(one, str | int | float)]
    kind, more = _kind(schema, depth=depth)
    return {"name": name, **told(label, kind, schema.get("description", ""), **more, hint=next(iter(examples), ""))}


def _kind(schema: Mapping[str, Any], *, depth: int) -> tuple[str, dict[str, Any]]:
    """The kind of editor, and what that has beside."""
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if choices and all(isinstance(one, str | int | float) for one in choices):
        return "pick", {"choices": [[one, str(one)] for one in choices]}
    types = schema.get("type")
    of = [types] if isinstance(types, str) else [one for one in types or () if one != "null"]
    match of:
        case ["boolean"]:
            return "pick", {"choices": _YES_OR_NO}
        case ["object"] if schema.get("properties") and depth < _DEEPEST:
            return "object", {"fields": _fields(schema, depth=depth + 1)}
        case [str() as only] if only in _KINDS:
            return _KINDS[only], {}
    return "any", {}
