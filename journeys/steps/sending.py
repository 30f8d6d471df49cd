"""What the steps that send a request share: how it ends, and where that leads."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from customers.event_rules import CONFIRMATION_WANTED
from engage.json.described import told, written
from journeys.rendering import Rendering
from journeys.steps.contact import Asked
from journeys.steps.context import StepContext
from journeys.steps.kinds import EXITED, Kind, Way, following, way
from journeys.steps.links import LINK_NAMES
from journeys.steps.request import one_of
from journeys.steps.results import (
    Answered,
    Ended,
    GoTo,
    Resumption,
    Send,
    StepFailed,
    StepResult,
    StepSkipped,
    WebhookRequest,
    step_record,
)


@dataclass(frozen=True, kw_only=True)
class SendingStep(Kind):
    """Sends a request. If it fails for good, goes on or ends the enrollment, as `on_failure` says."""

    called: ClassVar[str]  # in reasons: "webhook"
    knows: ClassVar = LINK_NAMES

    on_failure: str = written(
        "onFailure",
        one_of("continue", "exit"),
        default="continue",
        about=told("If it fails for good", "choice", choices=[["continue", "Go on"], ["exit", "Leave the journey"]]),
    )
    next: str | None = following()

    def rendering(self, context: StepContext) -> Rendering:
        """For its templates, which know the links of its message."""
        make = context.surroundings.links
        if make is None:
            return context.rendering()
        links = make(
            customer_id=context.customer.id,
            enrollment_id=context.enrollment_id,
            step_id=self.id,
            topic=self.topic_of(context),
            channel=self.channel_of(context),
            confirms=_asked_about(context),
            at=context.now,
        )
        return context.rendering(links)

    def topic_of(self, context: StepContext) -> str:
        """What its message is about; "" if it does not say."""
        return ""

    def channel_of(self, context: StepContext) -> str:
        """By which way it goes; "" if that is not known."""
        return ""

    @abstractmethod
    def rendered(self, context: StepContext, rendering: Rendering) -> WebhookRequest:
        """The request. Raises StepFailed or StepSkipped."""

    def ways(self) -> list[Way]:
        if self.on_failure == "exit":
            return [way(self.next, "delivered"), Way(EXITED, "failed")]
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        return self._begun(context, resumed=False)

    def _begun(self, context: StepContext, *, resumed: bool) -> StepResult:
        """`resumed`: it has waited before it might send."""
        rendering = self.rendering(context)
        try:
            request = self.rendered(context, rendering)
        except StepSkipped as skipped:
            record = step_record(self, "skipped", skipped.detail, resumed=resumed, missing=rendering.missing)
            return StepResult(step_record=record, then=GoTo(step_id=self.next))
        except StepFailed as failed:
            record = step_record(self, "failed", failed.detail, resumed=resumed, missing=rendering.missing)
            return StepResult(step_record=record, then=self._after_failure(failed.detail))
        return self._going(context, request, rendering.missing, resumed=resumed)

    def _going(
        self, context: StepContext, request: WebhookRequest, missing: tuple[str, ...], *, resumed: bool
    ) -> StepResult:
        return self._sends(request, missing, resumed=resumed)

    def _sends(
        self, request: WebhookRequest, missing: tuple[str, ...], *, resumed: bool, asked: Asked | None = None
    ) -> StepResult:
        detail = f"Sends {request.method} to {request.authority}."
        record = step_record(self, "waiting", detail, resumed=resumed, missing=missing, request=request, asked=asked)
        return StepResult(step_record=record, then=Send(step_id=self.id))

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult:
        if not isinstance(arrival, Answered):
            raise ValueError("A request is over with its final result.")  # noqa: TRY004  # the type itself is valid
        if arrival.dropped:
            record = step_record(self, "skipped", arrival.reason, resumed=True)
            return StepResult(step_record=record, then=GoTo(step_id=self.next))
        record = step_record(self, "done" if arrival.ok else "failed", arrival.reason, resumed=True)
        then = GoTo(step_id=self.next) if arrival.ok else self._after_failure(arrival.reason)
        return StepResult(step_record=record, then=then)

    def _after_failure(self, why: str) -> GoTo | Ended:
        if self.on_failure == "continue":
            return GoTo(step_id=self.next)
        return Ended(step_id=self.id, exited=True, reason=f"The {self.called} {self.id!r} failed. {why}")


def _asked_about(context: StepContext) -> tuple[str, str] | None:
    """The topic and the channel about which the customer is asked for a confirmation."""
    if context.event is None or context.event.name != CONFIRMATION_WANTED:
        return None
    properties = context.event.properties
    return str(properties.get("topic", "")), str(properties.get("channel", ""))
