"""What a connection wants to be given: JSON Schema (2020-12), of which what a value of a stranger's cannot make slow.

There are no references, and patterns are of re2. What is wrong is said with the schema's words, never with the value.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import re2
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError
from jsonschema.validators import extend

from engage.json.compact import ascii_json, json_bytes
from engage.json.documents import Part
from engage.sizes import KIB
from journeys.rendering import Names

MAX_SCHEMA_BYTES = 16 * KIB
_ANY: Mapping[str, Any] = {"type": "object"}
_WORDS = frozenset(
    {
        "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minLength",
        "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        "minItems", "maxItems", "minProperties", "maxProperties", "anyOf", "oneOf", "allOf", "not", "format",
        "title", "description", "default", "examples",
    }
)  # fmt: skip
_OF_SCHEMAS, _OF_SCHEMA = ("anyOf", "oneOf", "allOf"), ("items", "additionalProperties", "not")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 * KIB
    return re2.compile(pattern, options)


def _meets_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _compiled(pattern).search(value):
        yield ValidationError("")


_Validator: Any = extend(Draft202012Validator, {"pattern": _meets_pattern})


@dataclass(frozen=True)
class Inputs:
    """The schema of inputs, which is one of an object."""

    schema: Mapping[str, Any]
    _validator: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_validator", _Validator(self.schema))

    @property
    def required(self) -> list[str]:
        return list(self.schema.get("required", ()))

    @property
    def names(self) -> Names | None:
        """Those that may be there; None: any."""
        return None if self.is_open else dict.fromkeys(self.schema.get("properties", {}))

    @property
    def is_open(self) -> bool:
        return self.schema.get("additionalProperties") not in (None, False)

    def describes(self, name: str) -> bool:
        """Whether an input of this name may be there."""
        return self.is_open or name in self.schema.get("properties", {})

    def lacking(self, values: Mapping[str, Any], *, of: Collection[str] | None = None) -> list[str]:
        """The required ones (`of` these) that have no value; a blank text is none."""
        return [name for name in self.required if (of is None or name in of) and _is_none(values.get(name))]

    def problems(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What of the values does not meet the schema: the input's name, and the rule in words. Lacking ones do."""
        for error in self._validator.iter_errors(dict(values)):
            if error.validator != "required" or error.absolute_path:
                yield ".".join(map(str, error.absolute_path)), _in_words(error)


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _in_words(error: ValidationError) -> str:
    return f"does not meet {error.validator}: {ascii_json(error.validator_value)[:200]}"


def read_inputs(part: Part | None) -> Inputs:
    """The schema in this part; without one, any inputs may be there."""
    if part is None or part.is_null:
        return Inputs({**_ANY, "additionalProperties": True})
    _require_known_words(part)
    if part.field("type").value != "object":
        part.refuse('must describe an object: its type must be "object".')
    if json_bytes(part.value) > MAX_SCHEMA_BYTES:
        part.refuse(f"is longer than {MAX_SCHEMA_BYTES // KIB} KiB of JSON.")
    try:
        _Validator.check_schema(part.value)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        part.refuse(f"is no valid JSON Schema{f' at {place}' if place else ''}.")
    return Inputs({name: member.value for name, member in part.members().items()})


def _require_known_words(part: Part) -> None:
    """Refuses what could ask another server, or take long."""
    if isinstance(part.value, bool):
        return
    members = part.members()
    for name, member in members.items():
        if name not in _WORDS:
            member.refuse("is not known here; references and patterns of names are not.")
        if name == "properties":
            for one in member.members().values():
                _require_known_words(one)
        if name in _OF_SCHEMAS:
            for one in member.items():
                _require_known_words(one)
        if name in _OF_SCHEMA:
            _require_known_words(member)
        if name == "pattern":
            _require_pattern(member)


def _require_pattern(part: Part) -> None:
    try:
        _compiled(part.text(at_most=1000))
    except re2.error:
        part.refuse("is no pattern of RE2.")
