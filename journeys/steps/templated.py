"""Written values: templated texts, and JSON that holds these and `$value`s. Parsed once, rendered on every walk.

- Only string values are templates. Each is rendered on its own before anything is encoded, so whatever a value contains
  stays inside its string. Keys are literal.
- `{"$value": "api.payload.items", "default": []}` stands for the value of that name with its type. Where there is none,
  it stands for its default (itself a written value); without one, the member or item is left out, and the name noted.
- A value without templates costs nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.json.storable import depth, unstorable
from journeys.rendering import (
    InvalidTemplate,
    Rendering,
    RenderingFailed,
    Template,
    ValuePath,
    escaped,
    is_template,
    names_in_words,
    parse_path,
    parse_template,
)
from journeys.steps.results import StepFailed
from journeys.steps.written import Written

VALUE = "$value"


class _LeftOut(Enum):
    LEFT_OUT = "left out"


LEFT_OUT: Final = _LeftOut.LEFT_OUT


@dataclass(frozen=True)
class TemplatedText:
    """A template, and its place within the step."""

    place: str
    template: Template

    def render(self, rendering: Rendering) -> str:
        """The text. Raises StepFailed, whose detail names the place."""
        try:
            return self.template.render(rendering)
        except RenderingFailed as failed:
            raise StepFailed(f"The template of {self.place} failed: {failed.reason}") from None


@dataclass(frozen=True)
class TypedValue:
    """A `$value`: its name, its place within the step, and its default (LEFT_OUT if it has none)."""

    place: str
    path: ValuePath
    default: Any

    def render(self, rendering: Rendering) -> Any:
        """The value as JSON, or LEFT_OUT. Raises StepFailed, whose detail names the place."""
        try:
            found = self.path.find(rendering)
        except LookupError:
            if self.default is LEFT_OUT:
                rendering.note(self.path.name)
            return _rendered(self.default, rendering)
        except RenderingFailed as failed:
            raise StepFailed(f"The value of {self.place} failed: {failed.reason}") from None
        return escaped(found) if rendering.escapes else found


@dataclass(frozen=True)
class TemplatedJson:
    """A JSON value in which strings may be TemplatedText, and objects TypedValue; `constant` if none is."""

    value: Any
    constant: bool
    place: str = ""
    deepest: int | None = None  # how deeply it may be nested when it is rendered, where a value can make it deeper

    def render(self, rendering: Rendering) -> Any:
        """The value as JSON, LEFT_OUT if it is one without a value. Raises StepFailed."""
        if self.constant:
            return self.value
        value = _rendered(self.value, rendering)
        if self.deepest is not None and depth(value) > self.deepest:
            raise StepFailed(f"The value of {self.place} is nested more than {self.deepest} deep.")
        return value


def read_text(where: Written, part: Part, *, parse: Callable[[str], Template] = parse_template) -> str | TemplatedText:
    """The string in this part, which may be empty. Refuses other types, unstorable text and invalid templates."""
    if not isinstance(part.value, str):
        part.refuse_type("a string")
    if problem := unstorable(part.value):
        part.refuse(f"holds {problem}.")
    if not is_template(part.value):
        return part.value
    try:
        template = parse(part.value)
    except InvalidTemplate as invalid:
        part.refuse(str(invalid))
    if not where.stored:
        with Reading() as read:
            for mistake in template.mistakes(where.names):
                read.note(part, mistake)
            for name in template.names_after("vars") if "vars" in part.value else ():
                read(partial(where.require_variable, part, name))
    return TemplatedText(where.place_of(part), template)


def read_json(where: Written, part: Part, *, deepest: int) -> TemplatedJson:
    """The JSON in this part. Refuses invalid templates, unstorable text, and nesting deeper than `deepest`."""
    _check(part, deepest=deepest)
    return _made(where, part, _read(where, part), deepest=deepest)


def read_members(where: Written, part: Part, *, deepest: int) -> TemplatedJson:
    """The object in this part, whose members are written values; it is none itself. Refuses what read_json does."""
    _check(part, deepest=deepest)
    if VALUE in part.members() and not where.stored:
        part.refuse(f"must be an object with a member of its own for each name; only these can be a {VALUE}.")
    return _made(where, part, _read_object(where, part), deepest=deepest)


def _check(part: Part, *, deepest: int) -> None:
    if depth(part.value) > deepest:
        part.refuse(f"is nested more than {deepest} deep.")
    if problem := unstorable(part.value):
        part.refuse(f"holds {problem}.")


def _made(where: Written, part: Part, value: Any, *, deepest: int) -> TemplatedJson:
    constant = value is part.value
    deepens = not constant and _has_typed_value(value)
    return TemplatedJson(value, constant, where.place_of(part), deepest if deepens else None)


def _has_typed_value(value: Any) -> bool:
    match value:
        case TypedValue():
            return True
        case dict():
            return any(map(_has_typed_value, value.values()))
        case list():
            return any(map(_has_typed_value, value))
    return False


def _read(where: Written, part: Part) -> Any:
    """The value with its templates parsed; the same object if there are none."""
    match part.value:
        case str():
            return read_text(where, part)
        case dict() as members if VALUE in members:
            try:
                return _read_value(where, part)
            except Refusal:
                if not where.stored:  # what is stored may hold such an object from when it had no meaning
                    raise
            return _read_object(where, part)
        case dict():
            return _read_object(where, part)
        case list():
            with Reading() as read:
                items = read.each(part.items(), lambda item: _read(where, item))
            same = all(item is value for item, value in zip(items, part.value, strict=True))
            return part.value if same else items
    return part.value


def _read_object(where: Written, part: Part) -> Any:
    parts = part.members()
    with Reading() as read:
        values = read.each(parts.values(), lambda member: _read(where, member))
    same = all(value is member.value for value, member in zip(values, parts.values(), strict=True))
    return part.value if same else dict(zip(parts, values, strict=True))


def _read_value(where: Written, part: Part) -> TypedValue:
    with Reading() as read:
        fields = part.fields(required=[VALUE], optional=["default"], reading=read)
        path = read(lambda: read_path(where, fields[VALUE]))
        default = read(lambda: _read(where, fields["default"])) if "default" in fields else LEFT_OUT
    return TypedValue(where.place_of(part), path, default)


def read_path(where: Written, part: Part) -> ValuePath:
    """The name of a value in this part. Refuses one that can never have a value."""
    try:
        path = parse_path(part.text())
    except InvalidTemplate as invalid:
        part.refuse(str(invalid))
    if not where.stored and not path.may_have_a_value(where.names):
        part.refuse(f"reads {path.name[:80]}, which never has a value: {names_in_words(where.names)}.")
    if not where.stored and path.names[0] == "vars":
        where.require_variable(part, path.name_after("vars"))
    return path


def render_text(text: str | TemplatedText, rendering: Rendering) -> str:
    """The text, rendered if it is a template. Raises StepFailed."""
    return text if isinstance(text, str) else text.render(rendering)


def templated_parts(value: Any) -> Iterator[TemplatedText | TypedValue]:
    """All templates and values of what was parsed: of steps, of their parts, of JSON."""
    match value:
        case TemplatedText():
            yield value
        case TypedValue(default=default):
            yield value
            yield from templated_parts(default)
        case Mapping():
            yield from templated_parts([*value.values()])
        case list() | tuple():
            for item in value:
                yield from templated_parts(item)
        case _ if is_dataclass(value):
            yield from templated_parts([getattr(value, one.name) for one in fields(value)])


def names_read(value: Any, root: str) -> set[str]:
    """The names after this root in all that is templated in it."""
    return {name for _, name in places_reading(value, root)}


def places_reading(value: Any, root: str) -> Iterator[tuple[str, str]]:
    """The places within the step of all that is templated in it, with the names after this root there."""
    for part in templated_parts(value):
        if isinstance(part, TemplatedText):
            yield from ((part.place, name) for name in part.template.names_after(root) if name is not None)
        elif (after := part.path.name_after(root)) is not None:
            yield f"{part.place}.{VALUE}", after


def unescaped_markup(value: Any) -> list[str]:
    """The places of texts that have a tag, and put something out that is not escaped."""
    texts = (part for part in templated_parts(value) if isinstance(part, TemplatedText))
    return [text.place for text in texts if text.template.mixes_markup()]


def is_constant(value: Any) -> bool:
    """Whether what was parsed reads nothing."""
    match value:
        case TemplatedText() | TypedValue():
            return False
        case dict():
            return all(map(is_constant, value.values()))
        case list():
            return all(map(is_constant, value))
    return True


def _rendered(value: Any, rendering: Rendering) -> Any:
    match value:
        case TemplatedText() | TypedValue():
            return value.render(rendering)
        case dict():
            members = ((name, _rendered(item, rendering)) for name, item in value.items())
            return {name: item for name, item in members if item is not LEFT_OUT}
        case list():
            items = (_rendered(item, rendering) for item in value)
            return [item for item in items if item is not LEFT_OUT]
    return value
