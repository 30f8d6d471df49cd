"""What a connection wants to be given: a schema (schemas.py) of what it may use."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engage.json.documents import Part
from journeys.rendering import Names
from journeys.steps.schemas import errors_in, in_words, read_schema, validator_of

MOST_PROBLEMS = 100


@dataclass(frozen=True)
class Inputs:
    """The schema of inputs, which is one of an object."""

    schema: Mapping[str, Any]
    _validator: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_validator", validator_of(self.schema))

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

    def problems(self, values: Mapping[str, Any], *, most: int = MOST_PROBLEMS) -> Iterator[tuple[str, str]]:
        """What of the values does not meet the schema: the input's name, and the rule in words. Lacking ones do.

        Raises OverBudget.
        """

        def counts(error: Any) -> bool:
            return error.validator != "required" or bool(error.absolute_path)

        for error in errors_in(dict(values), self._validator, most=most, where=counts):
            yield ".".join(map(str, error.absolute_path)), in_words(error)


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def read_inputs(part: Part | None) -> Inputs:
    """The schema in this part; without one, any inputs may be there."""
    if part is None or part.is_null:
        return Inputs({"type": "object", "additionalProperties": True})
    return Inputs(read_schema(part))
