"""Templated texts and JSON of a step: parsed with the definition, rendered on every walk.

Only string values are templates. Each is rendered on its own before anything is encoded, so whatever a value contains
stays inside its string. Keys are literal. A value without templates costs nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from engage.json.documents import Part, Reading
from engage.json.storable import depth, unstorable
from journeys.rendering import (
    InvalidTemplate,
    Rendering,
    RenderingFailed,
    Template,
    is_template,
    parse_template,
)
from journeys.steps.results import StepFailed
from journeys.steps.written import WrittenStep


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
class TemplatedJson:
    """A JSON value in which strings may be TemplatedText; `constant` if none is."""

    value: Any
    constant: bool

    def render(self, rendering: Rendering) -> Any:
        """The value as JSON. Raises StepFailed."""
        return self.value if self.constant else _rendered(self.value, rendering)


def read_text(
    step: WrittenStep, part: Part, *, parse: Callable[[str], Template] = parse_template
) -> str | TemplatedText:
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
    if not step.stored and (strange := template.strange_names()):
        part.refuse(
            f"reads {', '.join(strange)}, which never has a value: names begin with customer, api.payload, event.name, "
            "event.properties, journey.id, journey.name, enrollment.id, now or vars."
        )
    if not step.stored and "vars" in part.value:
        for name in template.names_after("vars"):
            step.require_variable(part, name)
    return TemplatedText(step.place_of(part), template)


def read_json(step: WrittenStep, part: Part, *, deepest: int) -> TemplatedJson:
    """The JSON in this part. Refuses invalid templates, unstorable text, and nesting deeper than `deepest`."""
    if depth(part.value) > deepest:
        part.refuse(f"is nested more than {deepest} deep.")
    if problem := unstorable(part.value):
        part.refuse(f"holds {problem}.")
    value = _read(step, part)
    return TemplatedJson(value, constant=value is part.value)


def _read(step: WrittenStep, part: Part) -> Any:
    """The value with its templates parsed; the same object if there are none."""
    match part.value:
        case str():
            return read_text(step, part)
        case dict():
            parts = part.members()
            with Reading() as read:
                values = read.each(parts.values(), lambda member: _read(step, member))
            members = dict(zip(parts, values, strict=True))
            return part.value if all(members[name] is value for name, value in part.value.items()) else members
        case list():
            with Reading() as read:
                items = read.each(part.items(), lambda item: _read(step, item))
            same = all(item is value for item, value in zip(items, part.value, strict=True))
            return part.value if same else items
    return part.value


def render_text(text: str | TemplatedText, rendering: Rendering) -> str:
    """The text, rendered if it is a template. Raises StepFailed."""
    return text if isinstance(text, str) else text.render(rendering)


def names_read(value: Any, root: str) -> set[str]:
    """The names after this root in all templates of what was parsed: of steps, of their parts, of JSON."""
    match value:
        case TemplatedText():
            return {name for name in value.template.names_after(root) if name is not None}
        case Mapping():
            return set().union(*(names_read(item, root) for item in value.values()))
        case list() | tuple():
            return set().union(*(names_read(item, root) for item in value))
    if is_dataclass(value) and not isinstance(value, type):
        return names_read([getattr(value, one.name) for one in fields(value)], root)
    return set()


def _rendered(value: Any, rendering: Rendering) -> Any:
    match value:
        case TemplatedText():
            return value.render(rendering)
        case dict():
            return {name: _rendered(item, rendering) for name, item in value.items()}
        case list():
            return [_rendered(item, rendering) for item in value]
    return value
