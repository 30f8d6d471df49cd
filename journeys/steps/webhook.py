"""`webhook`: sends a JSON request to a URL that the journey's author chose.

`{"id": "tell", "type": "webhook", "url": "https://example.com/users/{{ customer.id }}", "method": "PUT",
"headers": {"Authorization": "Bearer …"}, "body": {"name": "{{ customer.name }}"}, "onFailure": "exit"}`. The request
is rendered here (request.py), and its result decides where the walk goes on; the caller sends it.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from engage.json.documents import Reading
from journeys.steps.context import StepContext
from journeys.steps.kinds import EXITED, Kind, Way, way
from journeys.steps.request import OPTIONAL, RequestTemplate, one_of, read_request
from journeys.steps.results import Answered, Ended, GoTo, Resumption, Send, StepFailed, StepResult, step_record
from journeys.steps.written import WrittenStep

_ON_FAILURE: tuple[Literal["continue", "exit"], ...] = ("continue", "exit")


@dataclass(frozen=True, kw_only=True)
class Webhook(Kind):
    """Sends a request. If it fails for good, goes on or ends the enrollment, as `on_failure` says."""

    type: ClassVar = "webhook"
    does: ClassVar = (
        "Sends a signed request. Only url is needed; method is POST, and onFailure continue, where they are left out."
    )
    examples: ClassVar = (
        {
            "id": "hello",
            "url": "https://mail.example/send",
            "method": "POST",
            "headers": {"X-Shop": "acme"},
            "body": {"to": "{{ customer.email }}", "seats": {"$value": "customer.seats"}},
            "onFailure": "exit",
        },
    )

    id: str
    request: RequestTemplate
    on_failure: Literal["continue", "exit"]
    next: str | None

    @property
    def label(self) -> str:
        return self.request.label

    def ways(self) -> list[Way]:
        if self.on_failure == "exit":
            return [way(self.next, "delivered"), Way(EXITED, "failed")]
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        rendering = context.rendering()
        try:
            request = self.request.render(rendering)
        except StepFailed as failed:
            record = step_record(self, "failed", failed.detail, missing=rendering.missing)
            return StepResult(step_record=record, then=self._after_failure(failed.detail))
        detail = f"Sends {request.method} to {self.request.url.authority}."
        return StepResult(
            step_record=step_record(self, "waiting", detail, missing=rendering.missing, request=request),
            then=Send(step_id=self.id),
        )

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult:
        if not isinstance(arrival, Answered):
            raise ValueError("A webhook is over with its final result.")  # noqa: TRY004  # the type itself is valid
        record = step_record(self, "done" if arrival.ok else "failed", arrival.reason, resumed=True)
        then = GoTo(step_id=self.next) if arrival.ok else self._after_failure(arrival.reason)
        return StepResult(step_record=record, then=then)

    def _after_failure(self, why: str) -> GoTo | Ended:
        if self.on_failure == "continue":
            return GoTo(step_id=self.next)
        return Ended(step_id=self.id, exited=True, reason=f"The webhook {self.id!r} failed. {why}")

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        with Reading() as read:
            fields = step.fields(required=["url"], optional=[*OPTIONAL, "onFailure"], reading=read)
            request = read(lambda: read_request(step, fields))
            on_failure = read(lambda: one_of(fields.get("onFailure"), _ON_FAILURE, default="continue"))
        return cls(id=step.id, request=request, on_failure=on_failure, next=step.next())
