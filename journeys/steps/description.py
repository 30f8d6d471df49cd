"""The kinds of steps as data: what an editor asks authors for, and the same as JSON Schema.

A field is {name, type, label, help, required, …}, as its kind's own file says it (engage/json/described.py).
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from engage.json.described import Abouts, abouts_of, names_of
from journeys.steps.definition import KINDS
from journeys.steps.events import EventPattern
from journeys.steps.exit_rules import MAX_RULES
from journeys.steps.kinds import Kind
from journeys.steps.written import LONGEST_ID

_DURATION = "^P[0-9DTHMSW.,]+$"
# What a value of each type is.
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "words": {"type": "string"},
    "text": {"type": "string"},
    "event": {"type": "string"},
    "message": {"type": "string"},
    "connection": {"type": "string"},
    "time": {"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}"},
    "duration": {"type": ["string", "null"], "pattern": _DURATION},
    "offset": {"type": "string", "pattern": f"^-?{_DURATION[1:]}"},
    "zone": {"type": ["string", "object"]},
    "step": {"type": ["string", "null"]},
    "in_app_step": {"type": ["string", "null"]},
    "flag": {"type": ["boolean", "null"]},
    "weight": {"type": "number", "exclusiveMinimum": 0},
    "condition": {"type": ["object", "null"]},
    "members": {"type": ["object", "null"]},
    "inputs": {"type": "object"},
    "headers": {"type": ["object", "null"]},
    "auth": {"type": ["object", "null"]},
    "paths": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
    "json": {},
}


def fields_of(kind: type[Kind]) -> list[dict[str, Any]]:
    """What an author is asked for, in order; the ways that do not stand in a list come last."""
    told = [dict(about) for about in abouts_of(kind)]
    return sorted(told, key=lambda about: about["type"] == "step")


@cache
def described() -> list[dict[str, Any]]:
    """All kinds in the order in which authors are told of them; `start` is a new step without its id."""
    return [
        {
            "type": kind.type,
            "title": kind.title,
            "icon": kind.icon,
            "does": kind.does,
            "fields": (fields := fields_of(kind)),
            "start": {"type": kind.type, **_start(fields)},
        }
        for kind in KINDS
    ]


def _start(fields: Abouts) -> dict[str, Any]:
    """What a new object holds: each field that has a beginning; of variants the first, of lists as many as needed."""
    started: dict[str, Any] = {}
    for field in fields:
        match field["type"]:
            case "variants":
                started |= {} if field["otherwise"] else _start(field["variants"][0]["fields"])
            case "list":
                started[field["name"]] = [_start(field["fields"]) for _ in range(field["least"])]
            case "step" if field.get("required"):
                started[field["name"]] = None
            case _ if "start" in field:
                started[field["name"]] = field["start"]
    return started


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a list of steps: their names and types; what more is refused, the check tells."""
    return {"type": "array", "items": {"oneOf": [_schema_of(kind) for kind in KINDS]}}


def _schema_of(kind: type[Kind]) -> dict[str, Any]:
    properties = {
        "id": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": LONGEST_ID},
        "type": {"const": kind.type},
        "next": _SCHEMAS["step"],
    }
    return {
        "type": "object",
        "title": kind.title,
        "description": kind.does,
        "properties": properties | _properties(fields_of(kind)),
        "required": ["id", "type", *names_of(kind).required],
        "additionalProperties": False,
    }


def _properties(fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {field["name"]: {"title": field["label"], **_value_schema(field)} for field in flat(fields)}


def flat(fields: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The fields with those of their variants among them."""
    for field in fields:
        if field["type"] == "variants":
            yield from (one for variant in field["variants"] for one in variant["fields"])
        else:
            yield field


def _value_schema(field: Mapping[str, Any]) -> Mapping[str, Any]:
    match field["type"]:
        case "choice":
            return {"enum": [value for value, _ in field["choices"]]}
        case "days":
            return {"type": "array", "items": {"enum": list(field["choices"])}, "minItems": 1}
        case "whole":
            return {"type": ["integer", "null"], "minimum": field["least"], "maximum": field["most"]}
        case "list":
            item = {
                "type": "object",
                "properties": _properties(field["fields"]),
                "required": [one["name"] for one in field["fields"] if one.get("required")],
                "additionalProperties": False,
            }
            return {"type": "array", "items": item, "minItems": field["least"], "maxItems": field["most"]}
    return _SCHEMAS[field["type"]]


def exit_rule() -> dict[str, Any]:
    """What an author is asked for of a rule that ends enrollments: an event, or a condition."""
    condition = {"name": "if", "type": "condition", "label": "If", "help": "", "start": {}}
    return {
        "type": "variants",
        "label": "Ends with",
        "otherwise": "",
        "variants": [
            {"name": "event", "label": "An event", "fields": abouts_of(EventPattern)},
            {"name": "if", "label": "A condition", "fields": [condition]},
        ],
    }


def exit_rules() -> dict[str, Any]:
    """The same of all of them."""
    return {
        "name": "exitOn",
        "type": "list",
        "label": "What ends it early",
        "help": "At whichever step: an event ends it as soon as it is recorded, a condition if it holds before a step.",
        "item": "rule",
        "least": 0,
        "most": MAX_RULES,
        "fields": [exit_rule()],
        "begins": {"event": ""},
    }
