"""`webhook`: sends a JSON request to a URL that the journey's author chose.

`{"id": "tell", "type": "webhook", "url": "https://example.com/users/{{ customer.id }}", "method": "PUT",
"headers": {"Authorization": "Bearer …"}, "body": {"name": "{{ customer.name }}"}, "onFailure": "exit"}`. This module
renders the request, and decides from its result where the walk goes on; the caller sends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, TypeVar

from engage.json.compact import json_bytes, unicode_json
from engage.json.documents import Part, Reading
from engage.sizes import KIB
from journeys.rendering import Rendering
from journeys.steps.context import StepContext
from journeys.steps.kinds import EXITED, Kind, Way, way
from journeys.steps.results import (
    Answered,
    Ended,
    GoTo,
    Resumption,
    Send,
    StepFailed,
    StepResult,
    WebhookRequest,
    step_record,
)
from journeys.steps.templated import TemplatedJson, read_json
from journeys.steps.webhook_headers import Headers, read_headers
from journeys.steps.webhook_url import Url, read_url
from journeys.steps.written import WrittenStep

MAX_BODY_BYTES = 256 * KIB
_DEEPEST_BODY = 20
_Word = TypeVar("_Word", bound=str)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
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
            "body": {"to": "{{ customer.email }}"},
            "onFailure": "exit",
        },
    )

    id: str
    method: str
    url: Url
    headers: Headers
    body: TemplatedJson | None
    on_failure: Literal["continue", "exit"]
    next: str | None

    @property
    def label(self) -> str:
        return f"{self.method} {self.url.address}"

    def ways(self) -> list[Way]:
        if self.on_failure == "exit":
            return [way(self.next, "delivered"), Way(EXITED, "failed")]
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        rendering = context.rendering()
        try:
            request = self._request(rendering)
        except StepFailed as failed:
            record = step_record(self, "failed", failed.detail, missing=rendering.missing)
            return StepResult(step_record=record, then=self._after_failure(failed.detail))
        detail = f"Sends {self.method} to {self.url.authority}."
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

    def _request(self, rendering: Rendering) -> WebhookRequest:
        return WebhookRequest(
            method=self.method,
            url=self.url.render(rendering),
            host=self.url.target.host_and_port,
            headers=self.headers.render(rendering),
            body=None if self.body is None else _encoded(self.body.render(rendering)),
        )

    def _after_failure(self, why: str) -> GoTo | Ended:
        if self.on_failure == "continue":
            return GoTo(step_id=self.next)
        return Ended(step_id=self.id, exited=True, reason=f"The webhook {self.id!r} failed. {why}")

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        with Reading() as read:
            fields = step.fields(required=["url"], optional=["method", "headers", "body", "onFailure"], reading=read)
            method = read(lambda: _one_of(fields.get("method"), _METHODS, default="POST"))
            body = read(lambda: _read_body(step, fields.get("body")))
            if method == "GET" and body is not None:
                read.note(fields["body"], "must not be there where the method is GET.")
            url = read(lambda: read_url(step, fields["url"]))
            headers = read(lambda: read_headers(step, fields.get("headers"), has_body=body is not None))
            on_failure = read(lambda: _one_of(fields.get("onFailure"), _ON_FAILURE, default="continue"))
        return cls(
            id=step.id, method=method, url=url, headers=headers, body=body, on_failure=on_failure, next=step.next()
        )


def _encoded(body: object) -> str:
    text = unicode_json(body)
    size = len(text.encode())
    if size > MAX_BODY_BYTES:
        raise StepFailed(f"The body is {size} bytes of JSON; the maximum is {MAX_BODY_BYTES}.")
    return text


def _one_of(part: Part | None, choices: Sequence[_Word], *, default: _Word) -> _Word:
    if part is None:
        return default
    text = part.text()
    chosen = next((choice for choice in choices if choice == text), None)
    if chosen is None:
        part.refuse(f"must be one of {', '.join(choices)}.")
    return chosen


def _read_body(step: WrittenStep, part: Part | None) -> TemplatedJson | None:
    """null means no body."""
    if part is None or part.is_null:
        return None
    body = read_json(step, part, deepest=_DEEPEST_BODY)
    if not step.stored and body.constant and (size := json_bytes(part.value)) > MAX_BODY_BYTES:
        part.refuse(f"is {size} bytes of JSON; its maximum is {MAX_BODY_BYTES}.")
    return body
