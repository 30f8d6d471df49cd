"""JSON Schema (2020-12), of which what a value of a stranger's cannot make slow.

There are no references, patterns are of re2, and checking takes no longer than the budget that holds. What is wrong is
said with the schema's words, never with the value.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

import re2
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError
from jsonschema.validators import extend

from engage.json.compact import ascii_json, json_bytes
from engage.json.documents import Part
from engage.notations.sizes import KIB
from engage.process.budget import Budget, current

MAX_SCHEMA_BYTES = 16 * KIB
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


def _is_multiple(validator: Any, divisor: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    """Of the numbers as they are written, in tenths and hundredths: floats have no 0.01."""
    if validator.is_type(value, "number"):
        (over, under), (by, of) = _ratio(value), _ratio(divisor)
        if over * of % (under * by):
            yield ValidationError("")


def _ratio(number: float) -> tuple[int, int]:
    return (number if isinstance(number, int) else Decimal(repr(number))).as_integer_ratio()


_UNITS_PER_RULE = 4


def errors_in(
    value: Any, validator: Any, *, most: int, where: Callable[[ValidationError], bool]
) -> list[ValidationError]:
    """The first rules (at most so many, `where` they count) that the value does not meet. Raises OverBudget."""
    with Budget() as budget:
        budget.begin()
        return list(islice(filter(where, validator.iter_errors(value)), most))


def _counted(rule: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    def tried(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        units = len(instance) // KIB if isinstance(instance, str) else 0
        current().spend(_UNITS_PER_RULE + units + (len(value) if isinstance(value, list) else 0))
        yield from rule(validator, value, instance, schema) or ()

    return tried


_RULES = {**Draft202012Validator.VALIDATORS, "pattern": _meets_pattern, "multipleOf": _is_multiple}
validator_of: Any = extend(
    Draft202012Validator, {name: _counted(rule) for name, rule in _RULES.items() if name in _WORDS}
)


def in_words(error: ValidationError) -> str:
    return f"does not meet {error.validator}: {ascii_json(error.validator_value)[:200]}"


def read_schema(part: Part) -> Mapping[str, Any]:
    """The schema in this part, which must be one of an object."""
    _require_known_words(part)
    if part.field("type").value != "object":
        part.refuse('must describe an object: its type must be "object".')
    if json_bytes(part.value) > MAX_SCHEMA_BYTES:
        part.refuse(f"is longer than {MAX_SCHEMA_BYTES // KIB} KiB of JSON.")
    try:
        validator_of.check_schema(part.value)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        part.refuse(f"is no valid JSON Schema{f' at {place}' if place else ''}.")
    return {name: member.value for name, member in part.members().items()}


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
