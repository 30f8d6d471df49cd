"""Reading of request bodies: both spellings of a field, strict types, bounded arrays, objects that can be stored.

A field refuses any other type: a number is not a string. `null` counts as absent. Unknown fields are ignored.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar, Never, Self

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import empty

from engage.errors import FailureDetail, InvalidRequest, MissingParameter, Refusal
from engage.json.compact import json_bytes, same_json
from engage.json.reading import ArraySizeExceeded
from engage.json.storable import STORED_DEPTH, depth, describe
from engage.sizes import KIB

_NONE_OF = "none_of"


class BodySerializer(serializers.Serializer[Any]):
    """A request body, or an object inside one.

    `aliases` maps a second spelling to its field. At least one of the fields in `one_of` must be present; `none_of` is
    the message if none is. `required_unless` maps a field to the one without which it is required. `read` returns the
    validated values or raises one Refusal. Required and optional fields, `validate_<field>` and `validate` work as in
    any serializer; there are no defaults, sources or forms.
    """

    aliases: ClassVar[dict[str, str]] = {}
    one_of: ClassVar[Sequence[str]] = ()
    none_of: ClassVar[str] = ""
    required_unless: ClassVar[dict[str, str]] = {}

    def run_validation(self, data: Any = empty) -> Any:
        # DRF's own method also handles forms, defaults and sources, and takes three times as long.
        return self.validate(self.to_internal_value(data))

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError(f"must be an object, but {describe(data)} came.", code="wrong_type")
        given = self._fold_aliases(data)
        values: dict[str, Any] = {}
        errors: dict[str, Any] = {}
        for name, field, look_further in self._readings:
            value = given.get(name)
            if value is None or _is_blank(field, value):
                if field.required or (name in self.required_unless and not given.get(self.required_unless[name])):
                    errors[name] = [ErrorDetail("is required.", code="required")]
                continue
            try:
                value = field.run_validation(value)
                values[name] = look_further(value) if look_further else value
            except serializers.ValidationError as error:
                errors[name] = error.detail
        if self.one_of and not any(name in values or name in errors for name in self.one_of):
            errors[self.one_of[0]] = [ErrorDetail(self.none_of, code=_NONE_OF)]
        if errors:
            raise serializers.ValidationError(errors)
        return values

    @cached_property
    def _readings(self) -> "list[tuple[str, serializers.Field[Any, Any, Any, Any], Callable[[Any], Any] | None]]":
        """Each field with its name and its `validate_<field>`."""
        return [(name, field, getattr(self, f"validate_{name}", None)) for name, field in self.fields.items()]

    def _fold_aliases(self, body: dict[str, Any]) -> dict[str, Any]:
        folded = {name: value for name, value in body.items() if value is not None and name not in self.aliases}
        for alias, name in self.aliases.items():
            value = body.get(alias)
            if value is None or (name in folded and _is_blank(self.fields[name], value)):
                continue
            if name in folded and not _is_blank(self.fields[name], folded[name]) and not same_json(folded[name], value):
                raise InvalidRequest(f"{name} and {alias} are two spellings of one field, but their values differ.")
            folded[name] = value
        return folded

    @classmethod
    def read(cls, body: Any) -> dict[str, Any]:
        """The body's validated values. Raises MissingParameter, ArraySizeExceeded or InvalidRequest."""
        try:
            return dict(cls._reader().run_validation(body))
        except serializers.ValidationError as error:
            raise _refusal(error.detail) from None

    @classmethod
    @cache
    def _reader(cls) -> Self:
        """One stateless instance for all calls, because creating its fields takes as long as using them."""
        return cls()


def _is_blank(field: "serializers.Field[Any, Any, Any, Any]", value: Any) -> bool:
    """Whether the value counts as absent, as `null` does. A text that is too long is refused as any other."""
    return (
        isinstance(field, TextField)
        and field.blank_is_absent
        and isinstance(value, str)
        and not value.strip()
        and not field.is_too_long(value)
    )


def _refusal(errors: Any) -> Refusal:
    found = [(_in_words(path, error), error.code, path) for path, error in _flatten(errors, "")]
    missing = all(code in {"required", _NONE_OF} for _, code, _ in found)
    details = [FailureDetail(field=path, message=message) for message, _, path in found] if len(found) > 1 else []
    kind = MissingParameter if missing else InvalidRequest
    return kind(" ".join(message for message, _, _ in found), details=details)


def _in_words(path: str, error: ErrorDetail) -> str:
    if error.code == "required":
        return f"{path} is required."
    return str(error) if error.code == _NONE_OF else f"{path} {error}"


def _flatten(errors: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(errors, dict):
        return [
            found
            for name, inner in errors.items()
            for found in _flatten(inner, f"{path}.{name}" if path else str(name))
        ]
    return [(path, error) for error in errors]


class StrictField(serializers.Field[Any, Any, Any, Any]):
    """A field that accepts one JSON type, and reports in words what came instead."""

    expected = ""

    def run_validation(self, data: Any = empty) -> Any:
        return self.to_internal_value(data)

    def refuse(self, value: Any) -> Never:
        raise serializers.ValidationError(f"must be {self.expected}, but {describe(value)} came.", code="wrong_type")


class TextField(StrictField):
    """A string. A blank one counts as absent if `blank_is_absent`; `max_length` None means no limit but the body's."""

    expected = "a string"

    def __init__(self, *, max_length: int | None = 1024, blank_is_absent: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_length = max_length
        self.blank_is_absent = blank_is_absent

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.refuse(data)
        if self.is_too_long(data):
            raise serializers.ValidationError(f"must be at most {self.max_length} characters long, not {len(data)}.")
        return data

    def is_too_long(self, text: str) -> bool:
        return self.max_length is not None and len(text) > self.max_length


def optional_text(help_text: str, *, max_length: int | None = None) -> TextField:
    """A text that may be left out, and is when it is blank."""
    return TextField(required=False, blank_is_absent=True, max_length=max_length, help_text=help_text)


class ArrayField(StrictField):
    """An array of at most `max_items` items of any type. Raises ArraySizeExceeded."""

    expected = "an array"

    def __init__(self, *, max_items: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_items = max_items

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.refuse(data)
        if len(data) > self.max_items:
            raise ArraySizeExceeded(f"{self.field_name} holds {len(data)} items; its maximum is {self.max_items}.")
        return data


class TextArrayField(ArrayField):
    """An array of at most `max_items` strings. Raises ArraySizeExceeded."""

    expected = "an array of strings"

    def to_internal_value(self, data: Any) -> list[str]:
        items: list[str] = super().to_internal_value(data)
        for position, item in enumerate(items):
            if not isinstance(item, str):
                raise serializers.ValidationError(
                    f"must be an array of strings, but item {position} is {describe(item)}.", code="wrong_type"
                )
        return items


class ObjectField(StrictField):
    """A JSON object that can be stored: nested at most 10 deep, at most `max_bytes` when written as JSON."""

    expected = "an object"

    def __init__(self, *, max_bytes: int = 64 * KIB, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_bytes = max_bytes

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.refuse(data)
        if depth(data) > STORED_DEPTH:
            raise serializers.ValidationError(f"is nested more than {STORED_DEPTH} deep.", code="too_deep")
        size = json_bytes(data)
        if size > self.max_bytes:
            raise serializers.ValidationError(
                f"is {size} bytes of JSON; its maximum is {self.max_bytes}.", code="too_big"
            )
        return data
