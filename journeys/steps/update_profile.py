"""`update_profile`: writes attributes of the customer; null deletes one.

`{"id": "grade", "type": "update_profile", "attributes": {"plan": "pro", "greeting": "Hi {{ customer.name }}"}}`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from customers.attribute_rules import MAX_PROFILE_BYTES, check_attribute_names, check_attributes_size, merged
from engage.errors import InvalidRequest
from engage.json.described import told, within
from engage.json.documents import Part
from engage.json.storable import STORED_DEPTH
from journeys.steps.context import StepContext
from journeys.steps.kinds import Kind, Way, following, way
from journeys.steps.results import GoTo, StepFailed, StepResult, step_record
from journeys.steps.templated import TemplatedJson, read_members
from journeys.steps.written import WrittenStep

_DRAWN_NAMES, _SHOWN_NAMES = 3, 5


def _read_attributes(step: WrittenStep, part: Part) -> TemplatedJson:
    names = part.members()
    if not names:
        part.refuse("must hold at least one attribute.")
    attributes = read_members(step, part, deepest=STORED_DEPTH)
    try:
        check_attribute_names(names, field=part.place)
        if not step.stored and attributes.constant:
            check_attributes_size(attributes.value)
    except InvalidRequest as invalid:
        raise part.refusal(invalid.message) from None
    return attributes


@dataclass(frozen=True, kw_only=True)
class UpdateProfile(Kind):
    """Writes all of the attributes, or none if one cannot be rendered or the profile grows too large."""

    type: ClassVar = "update_profile"
    title: ClassVar = "Change the profile"
    icon: ClassVar = "edit"
    does: ClassVar = "Writes attributes of the customer; null deletes one."
    examples: ClassVar = (
        {
            "id": "note",
            "attributes": {
                "coupon": "{{ api.payload.coupon }}",
                "cart": {"$value": "api.payload.items", "default": []},
                "trialEndsAt": None,
            },
        },
    )

    attributes: TemplatedJson = within(
        "attributes", _read_attributes, about=told("Attributes", "members", "null deletes one.", start={})
    )
    next: str | None = following()

    @property
    def label(self) -> str:
        return f"Write {_listed(list(self.attributes.value), at_most=_DRAWN_NAMES)}"

    def ways(self) -> list[Way]:
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        rendering = context.rendering()
        try:
            writes = self.attributes.render(rendering)
            context.customer = context.customer.with_attributes(_written(context.customer.attributes, writes))
        except StepFailed as failed:
            record = step_record(self, "failed", failed.detail, missing=rendering.missing)
        else:
            record = step_record(self, "done", _in_words(writes), missing=rendering.missing, writes=writes)
        return StepResult(step_record=record, then=GoTo(step_id=self.next))


def _written(attributes: Mapping[str, Any], writes: Mapping[str, Any]) -> dict[str, Any]:
    """The profile after the writes. Raises StepFailed if it grows too large."""
    profile = merged(attributes, writes)
    try:
        check_attributes_size(profile, most=MAX_PROFILE_BYTES)  # a step is not told who wrote what
    except InvalidRequest as refusal:
        raise StepFailed(refusal.message) from None
    return profile


def _in_words(writes: Mapping[str, Any]) -> str:
    return f"Wrote {_listed(list(writes), at_most=_SHOWN_NAMES) or 'nothing'}."


def _listed(names: Sequence[str], *, at_most: int) -> str:
    more = len(names) - at_most
    return f"{', '.join(names[:at_most])}{f' and {more} more' if more > 0 else ''}"
