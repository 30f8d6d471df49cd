"""`track_event`: records an event for the customer, which may start and move journeys.

`{"id": "note", "type": "track_event", "eventName": "reminded", "eventProperties": {"plan": "{{ customer.plan }}"}}`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES, RESERVED, is_reserved
from engage.json.compact import json_bytes
from engage.json.described import told, within
from engage.json.documents import Part
from engage.json.storable import STORED_DEPTH
from journeys.rendering import Rendering
from journeys.steps.context import StepContext
from journeys.steps.kinds import Kind, Way, following, way
from journeys.steps.results import GoTo, StepFailed, StepResult, TrackedEvent, step_record
from journeys.steps.templated import TemplatedJson, read_members
from journeys.steps.written import WrittenStep

MAX_LINKS = 20
_NO_PROPERTIES = TemplatedJson({}, constant=True)


def _read_name(step: WrittenStep, part: Part) -> str:
    name = part.text(at_most=MAX_EVENT_NAME_LENGTH)
    if is_reserved(name) and not step.stored:
        part.refuse(RESERVED)
    return name


def _read_properties(step: WrittenStep, part: Part) -> TemplatedJson:
    properties = read_members(step, part, deepest=STORED_DEPTH)
    size = json_bytes(part.value)
    if size > MAX_EVENT_PROPERTIES_BYTES:
        part.refuse(f"is {size} bytes of JSON; its maximum is {MAX_EVENT_PROPERTIES_BYTES}.")
    return properties


@dataclass(frozen=True, kw_only=True)
class TrackEvent(Kind):
    """Records the event. After a chain of MAX_LINKS events that led to one another, it has no further effect."""

    type: ClassVar = "track_event"
    title: ClassVar = "Record an event"
    icon: ClassVar = "add_alert"
    does: ClassVar = "Records an event of the customer, which may start or move journeys. Only eventName is needed."
    examples: ClassVar = ({"id": "thank", "eventName": "thanked", "eventProperties": {"plan": "{{ customer.plan }}"}},)

    event_name: str = within("eventName", _read_name, about=told("Event", "event", start=""))
    properties: TemplatedJson = within(
        "eventProperties", _read_properties, default=_NO_PROPERTIES, or_null=True, about=told("Properties", "members")
    )
    next: str | None = following()

    @property
    def label(self) -> str:
        return f"Record the event {self.event_name!r}"

    def ways(self) -> list[Way]:
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        rendering = context.rendering()
        try:
            tracked = self._tracked(context, rendering)
        except StepFailed as failed:
            record = step_record(self, "failed", failed.detail, missing=rendering.missing)
        else:
            record = step_record(self, "done", _in_words(tracked), missing=rendering.missing, tracked=tracked)
        return StepResult(step_record=record, then=GoTo(step_id=self.next))

    def _tracked(self, context: StepContext, rendering: Rendering) -> TrackedEvent:
        properties = self.properties.render(rendering)
        if not self.properties.constant:
            _require_small(properties)
        chain = context.chain + 1
        return TrackedEvent(name=self.event_name, properties=properties, chain=chain, reacts=chain <= MAX_LINKS)


def _require_small(properties: Any) -> None:
    size = json_bytes(properties)
    if size > MAX_EVENT_PROPERTIES_BYTES:
        raise StepFailed(
            f"The event's properties are {size} bytes of JSON; the maximum is {MAX_EVENT_PROPERTIES_BYTES}."
        )


def _in_words(tracked: TrackedEvent) -> str:
    if tracked.reacts:
        return f"Recorded the event {tracked.name!r}."
    return f"Recorded the event {tracked.name!r}, without effect: {MAX_LINKS} events led to it one by another."
