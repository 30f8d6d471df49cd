"""`in_app`: delivers an in-app message of the workspace to the customer, and goes on at once.

`{"id": "offer", "type": "in_app", "message": "spring-sale", "expires": "P7D", "priority": 5, "withdrawOnExit": true,
"values": {"coupon": "{{ api.payload.coupon }}"}}`. The message is looked up when the step begins: one that is not
active any more, or shows nothing, makes the step `skipped`. What becomes of the delivery is told by the events
`in_app.shown`, `in_app.acted`, `in_app.closed` and `in_app.expired`, which a `wait_for_event` may wait for by the
step's id (`delivery`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from customers.event_rules import MAX_MESSAGE_ID_LENGTH
from engage.json.compact import json_bytes
from engage.json.described import told, within, written
from engage.json.documents import Part
from engage.json.durations import duration_in_words
from engage.json.storable import STORED_DEPTH
from engage.notations.sizes import KIB
from journeys.steps.contacting import ContactingStep
from journeys.steps.context import StepContext
from journeys.steps.durations import read_duration
from journeys.steps.kinds import Way, following, way
from journeys.steps.results import GoTo, InAppDelivery, Resumption, StepFailed, StepResult, TimedOut, step_record
from journeys.steps.templated import TemplatedJson, read_members
from journeys.steps.written import WrittenStep

LEAST_EXPIRY, LONGEST_EXPIRY, EXPIRY = timedelta(minutes=1), timedelta(days=366), timedelta(days=30)
MAX_PRIORITY = 100
MAX_VALUES_BYTES = 16 * KIB
_NO_VALUES = TemplatedJson({}, constant=True)


def _read_message(step: WrittenStep, part: Part) -> str:
    key = part.text(at_most=MAX_MESSAGE_ID_LENGTH)
    if step.known is not None and not step.stored and not step.known.shows_message(key):
        part.refuse(f"is {key!r}, but the workspace has no active message with this key that has content.")
    return key


def _read_expiry(part: Part) -> timedelta:
    expires = read_duration(part)
    if not LEAST_EXPIRY <= expires <= LONGEST_EXPIRY:
        part.refuse("must be between a minute (PT1M) and 366 days (P366D).")
    return expires


def _read_priority(part: Part) -> int:
    return part.whole(most=MAX_PRIORITY, least=-MAX_PRIORITY)


def _read_values(step: WrittenStep, part: Part) -> TemplatedJson:
    if (size := json_bytes(part.value)) > MAX_VALUES_BYTES:
        part.refuse(f"is {size} bytes of JSON; its maximum is {MAX_VALUES_BYTES}.")
    return read_members(step, part, deepest=STORED_DEPTH)


@dataclass(frozen=True, kw_only=True)
class InApp(ContactingStep):
    """Makes a delivery of the message with this key."""

    type: ClassVar = "in_app"
    title: ClassVar = "Show an in-app message"
    icon: ClassVar = "chat_bubble"
    does: ClassVar = (
        "Delivers an in-app message to the customer, and goes on at once. Only message is needed; expires is P30D "
        "where it is left out, a higher priority is shown first, and the message's texts read values as values.<name>."
    )
    examples: ClassVar = (
        {"id": "notice", "message": "new-terms", "purpose": "transactional"},
        {
            "id": "offer",
            "message": "spring-sale",
            "expires": "P7D",
            "priority": 5,
            "withdrawOnExit": True,
            "values": {"coupon": "{{ api.payload.coupon }}"},
            "topic": "offers",
            "window": {"from": "09:00", "until": "20:00"},
        },
    )

    message: str = within("message", _read_message, about=told("Message", "message", start=""))
    expires: timedelta = written(
        "expires", _read_expiry, default=EXPIRY, or_null=True, about=told("Shown for", "duration", "30 days if empty.")
    )
    priority: int = written(
        "priority",
        _read_priority,
        default=0,
        or_null=True,
        about=told("Priority", "whole", "A higher one is shown first.", least=-MAX_PRIORITY, most=MAX_PRIORITY),
    )
    withdraw_on_exit: bool = written(
        "withdrawOnExit", Part.flag, default=False, about=told("Withdraw it when the customer leaves", "flag")
    )
    values: TemplatedJson = within(
        "values",
        _read_values,
        default=_NO_VALUES,
        or_null=True,
        about=told("Values", "members", "The texts of the message read them."),
    )
    next: str | None = following()

    @property
    def label(self) -> str:
        return f"Show {self.message!r}, for at most {duration_in_words(self.expires)}"

    def ways(self) -> list[Way]:
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        return self._begun(context, resumed=False)

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult:
        if not isinstance(arrival, TimedOut):
            raise ValueError("Nothing but its time ends its wait.")  # noqa: TRY004  # the type itself is valid
        return self._begun(context, resumed=True)

    def _begun(self, context: StepContext, *, resumed: bool) -> StepResult:
        """`resumed`: it has waited before it might be shown."""
        then = GoTo(step_id=self.next)
        if self.message not in context.surroundings.messages:
            why = f"The message {self.message!r} is not active, or has no content."
            return StepResult(step_record=step_record(self, "skipped", why, resumed=resumed), then=then)
        rendering = context.rendering()
        try:
            values = self._values(self.values.render(rendering))
        except StepFailed as failed:
            record = step_record(self, "failed", failed.detail, resumed=resumed, missing=rendering.missing)
            return StepResult(record, then)
        asked = self.asked(context, self.sent(context, "in_app", resumed=resumed)) if context.contact else None
        if asked is not None and asked.verdict != "send":
            return self.held_back(asked, rendering.missing, resumed=resumed)
        delivery = InAppDelivery(
            message=self.message,
            values=values,
            priority=self.priority,
            expires_after=self.expires,
            withdraw_on_exit=self.withdraw_on_exit,
        )
        detail = f"Delivers the message {self.message!r}."
        record = step_record(
            self, "done", detail, resumed=resumed, missing=rendering.missing, in_app=delivery, asked=asked
        )
        return StepResult(record, then)

    def _values(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.values.constant and (size := json_bytes(values)) > MAX_VALUES_BYTES:
            raise StepFailed(f"The values are {size} bytes of JSON; the maximum is {MAX_VALUES_BYTES}.")
        return values
