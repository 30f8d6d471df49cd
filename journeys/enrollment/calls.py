"""The calls about enrollments: their history, and ending one early."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from customers.api.path_ids import ADA
from engage.calls.asked import Asked
from engage.calls.call import PathId, get, post
from engage.calls.queries import AFTER, CURSOR, LIMIT
from engage.database.object_ids import ObjectId
from engage.errors import MissingParameter
from engage.http.paging import DEPRECATED, NEXT, NEXT_CURSOR, begin_of, cursor_of, place_of, written_place
from engage.json.fields import LEFT_OUT, Text, Whole, filled
from engage.json.keywords import Keywords
from engage.scopes import Scope
from journeys.engine.enrollments.by_customer import (
    GOES_ON,
    LAST_STEP,
)
from journeys.engine.enrollments.exiting import EnrollmentAlreadyEnded
from journeys.engine.enrollments.exiting import exit_enrollment as end
from journeys.engine.enrollments.history import MOST_ATTEMPTS, RunWithWebhook, enrollment_history
from journeys.engine.enrollments.states import EnrollmentNotFound, EnrollmentState, journey_of_enrollment
from journeys.engine.operations.redaction import without_values
from journeys.engine.webhooks.waiting import Waiting, waiting
from journeys.faces.path_ids import ADAS_JOB, JOURNEY_ID, TRIGGER_ID
from journeys.models import StepRun, WebhookDelivery
from journeys.models.choices import StateOfEnrollment
from journeys.steps.exit import LONGEST_REASON
from journeys.steps.secrets import url_without_secrets

ENROLLMENT_ID = PathId(
    name="enrollmentId",
    description="The `enrollmentId` of the job.",
    example="6a0b1c2fe4b0a1d2c3e4f504",
    missing=EnrollmentNotFound,
    journey_of=journey_of_enrollment,
)


@dataclass(frozen=True, kw_only=True)
class HistoryQuery:
    """Which page of the steps."""

    limit: Annotated[int, LIMIT, Whole(most=100)] = 50
    after: Annotated[int | None, AFTER, place_of(int)] = None
    cursor: Annotated[int | None, CURSOR, DEPRECATED, cursor_of(int)] = None


@dataclass(frozen=True, kw_only=True)
class ExitBody:
    """Why the enrollment should end."""

    reason: Annotated[
        str,
        "Why the enrollment is to end, as text. It is stored as the enrollment's exit reason.",
        Text(longest=LONGEST_REASON, blank_is_absent=True),
    ]


@dataclass(frozen=True, kw_only=True)
class WebhookAttempt:
    """One attempt to send a webhook."""

    number: Annotated[int, "The number of the attempt, from 1.", Keywords(minimum=1)]
    at: datetime
    milliseconds: Annotated[int, "How long the attempt took."]
    status: Annotated[int | None, "The HTTP status; null if no response was received."]
    answer: Annotated[str, "The first 4 KiB of the response body; empty if no response was received."]
    error: Annotated[str | None, "Why no response was received, or only part of one; otherwise null."]


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """The request of a webhook step, and its result."""

    webhook_id: Annotated[str, "The `webhook-id` header that the receiver gets, the same for every attempt."]
    method: str
    url: Annotated[str, "The URL. Values of query parameters that look like credentials are hidden."]
    headers: Annotated[
        Mapping[str, str],
        "The headers set by the journey, without the signature. Values are hidden, but that of `Content-Type`. Empty "
        "if they cannot be decrypted at the moment.",
    ]
    body: Annotated[str | None, "The body as the text of JSON or of a form; null if the request has none."]
    state: Annotated[
        WebhookDelivery.State,
        "`waiting` while delivery is attempted; `dropped` if the enrollment ended first, or it may not be sent "
        "any more.",
    ]
    result: Annotated[str | None, "The outcome, as text; null while delivery is attempted."]
    kept: Annotated[
        Mapping[str, Any] | None,
        "What the step keeps of the last answer, by name; null if it keeps nothing, or delivery is attempted.",
    ]
    waits_because: Annotated[
        str | None,
        "Why the next attempt waits, as text, such as `Left alone until 19:26:30 UTC after 10 failures in a row: "
        "Answered 500.`; null unless something is in its way.",
    ]
    attempts_made: Annotated[int, "The number of attempts so far."]
    next_attempt_at: Annotated[
        datetime | None,
        "When the next attempt is made, at the earliest; null unless `state` is `waiting`, and while its host is held.",
    ]
    attempts: Annotated[
        Sequence[WebhookAttempt], f"The latest {MOST_ATTEMPTS} attempts, in order.", Keywords(maxItems=MOST_ATTEMPTS)
    ]

    @classmethod
    def of(cls, delivery: WebhookDelivery, step: RunWithWebhook, waits: Waiting | None) -> "Webhook":
        return filled(
            cls,
            delivery,
            url=url_without_secrets(delivery.url),
            headers=without_values(delivery.readable_headers),
            result=None if delivery.state in WebhookDelivery.UNDECIDED else delivery.result or None,
            waits_because=(waits.because if waits else "") or None,
            kept=delivery.kept_answer,
            attempts_made=delivery.attempts,
            next_attempt_at=waits.next_attempt_at if waits else None,
            attempts=[filled(WebhookAttempt, attempt, error=attempt.error or None) for attempt in step.attempts],
        )


@dataclass(frozen=True, kw_only=True)
class StepPolicy:
    """What the contact policy said to the message of a step."""

    verdict: Annotated[str, "`send`, `wait` or `skip`."]
    rule: Annotated[
        str | None, "What said no: `reach`, `consent`, `window`, or `cap:` and the cap's key; null if nothing did."
    ]
    until: Annotated[
        datetime | None, "Of a wait: when everything is asked again. Of a full cap: when there is a place."
    ]
    topic: Annotated[str | None, "What the message is about; null if nothing says so."]

    @classmethod
    def of(cls, policy: Mapping[str, Any]) -> "StepPolicy":
        until = policy.get("until")
        return cls(
            verdict=policy["verdict"],
            rule=policy.get("rule"),
            until=datetime.fromisoformat(until) if until else None,
            topic=policy.get("topic"),
        )


@dataclass(frozen=True, kw_only=True)
class EnrollmentStep:
    """One step in an enrollment's history."""

    ordinal: Annotated[int, "The position in the history, from 0. A step in a loop appears more than once."]
    step_id: str
    type: Annotated[str, "The step's type; empty if the enrollment was given up before the type was known."]
    state: Annotated[
        StepRun.State,
        "`interrupted` if the enrollment ended while the step was waiting; `skipped` if what a `send` requires had "
        "no value, or the message may not be sent.",
    ]
    detail: Annotated[str, "The outcome of the step, as text."]
    missing: Annotated[Sequence[str], "The names used in the step's templates that had no value."]
    because: Annotated[
        Sequence[str],
        "The values that decided which way a `branch` went; at most five, of at most 200 characters. Empty for other "
        "steps.",
    ]
    policy: Annotated[
        StepPolicy | None,
        "What the contact policy said to a `send` or `in_app` step; null for other steps, and where it was not asked.",
    ]
    event_id: Annotated[
        ObjectId | None, "The id of the event that the step recorded, or that ended its wait; null if there is none."
    ]
    began_at: datetime
    ended_at: Annotated[datetime | None, "When the step ended; null while it is waiting."]
    webhook: Annotated[
        Webhook | None,
        "The request and its attempts; null unless this is a webhook step whose request was rendered.",
    ]

    @classmethod
    def of(cls, step: RunWithWebhook, waits: Mapping[int, Waiting]) -> "EnrollmentStep":
        webhook = Webhook.of(step.delivery, step, waits.get(step.delivery.id)) if step.delivery else None
        policy = StepPolicy.of(step.run.policy) if step.run.policy else None
        return filled(cls, step.run, because=step.run.because or [], policy=policy, webhook=webhook)


@dataclass(frozen=True, kw_only=True)
class Entered:
    """One customer's path through one journey."""

    schema_name: ClassVar = "Enrollment"

    enrollment_id: Annotated[ObjectId, "The enrollment's id."]
    journey_id: Annotated[ObjectId, "The journey's id."]
    journey_name: str
    revision: Annotated[int, "The revision of the journey's steps that the enrollment follows.", Keywords(minimum=1)]
    customer_id: Annotated[ObjectId, "The customer's id."]
    trigger_id: Annotated[
        ObjectId | None, "The id of the trigger that led to the enrollment; null once its job is pruned."
    ]
    job_id: Annotated[str | None, "The id of the job that led to the enrollment; null once the job is pruned."]
    state: StateOfEnrollment
    step_id: Annotated[str | None, LAST_STEP]
    awaits_event: Annotated[str | None, "The name of the event that the enrollment waits for; null if there is none."]
    goes_on_at: Annotated[datetime | None, GOES_ON]
    exit_reason: Annotated[str | None, "Why the enrollment was exited, as text; null if it was not."]
    error: Annotated[str | None, "Why the last attempt to continue failed; null unless it is being retried."]
    entered_at: datetime
    ended_at: Annotated[datetime | None, "When the enrollment ended; null while it is active."]

    @classmethod
    def of(cls, found: EnrollmentState, **given: object) -> Self:
        enrollment, job = found.enrollment, found.enrollment.job
        return filled(
            cls,
            enrollment,
            enrollment_id=enrollment.id,
            journey_name=enrollment.journey.name,
            revision=enrollment.revision.number,
            trigger_id=job.trigger_id if job else None,
            job_id=job.job_id if job else None,
            step_id=enrollment.step_id or None,
            awaits_event=enrollment.awaits_event or None,
            goes_on_at=found.goes_on_at,
            exit_reason=enrollment.exit_reason or None,
            error=enrollment.error or None,
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A move, by which an enrollment went on in a later revision of its journey."""

    schema_name: ClassVar = "EnrollmentMove"

    at: datetime
    from_revision: Annotated[int, "The number of the revision before.", Keywords(minimum=1)]
    to_revision: Annotated[int, "The number of the revision in which it went on.", Keywords(minimum=1)]
    steps_begun: Annotated[int, "The number of steps that it had begun by then; the last one may have been waiting."]

    @classmethod
    def of(cls, move: Mapping[str, Any]) -> "Moved":
        at, number = datetime.fromisoformat(move["at"]), move["stepsBegun"]
        return cls(at=at, from_revision=move["from"], to_revision=move["to"], steps_begun=number)


@dataclass(frozen=True, kw_only=True)
class EnrollmentHistory(Entered):
    """One customer's path through one journey, with a page of its steps."""

    schema_name: ClassVar = "EnrollmentHistory"

    steps: Annotated[Sequence[EnrollmentStep], "A page of the steps, in order."]
    steps_begun: Annotated[int, "The number of steps in the whole history."]
    moves: Annotated[
        Sequence[Moved] | None, "The moves by which it came to its revision, in order; left out without any.", LEFT_OUT
    ]
    next: Annotated[str | None, NEXT]
    next_cursor: Annotated[str | None, NEXT_CURSOR, DEPRECATED]


def _at(hour: int, minute: int, second: int, milliseconds: int = 0, day: int = 20) -> datetime:
    return datetime(2026, 11, day, hour, minute, second, milliseconds * 1000, tzinfo=UTC)


_ENTERED_AT, _ENDED_AT = _at(19, 8, 0, 310), _at(8, 15, 0, day=21)
_EXITED = Entered(
    enrollment_id=ENROLLMENT_ID.example,
    journey_id=JOURNEY_ID.example,
    journey_name="Order follow-up",
    revision=3,
    customer_id=ADA,
    trigger_id=TRIGGER_ID.example,
    job_id=ADAS_JOB,
    state="exited",
    step_id="tell-shop",
    awaits_event=None,
    goes_on_at=None,
    exit_reason="The order was refunded.",
    error=None,
    entered_at=_ENTERED_AT,
    ended_at=_ENDED_AT,
)
_NOTED = EnrollmentStep(
    ordinal=0,
    step_id="note",
    type="update_profile",
    state=StepRun.State.DONE,
    detail="Wrote last_order.",
    missing=["api.payload.coupon"],
    because=[],
    policy=None,
    event_id=None,
    began_at=_ENTERED_AT,
    ended_at=_ENTERED_AT,
    webhook=None,
)
_SENDING = EnrollmentStep(
    ordinal=1,
    step_id="tell-shop",
    type="webhook",
    state=StepRun.State.WAITING,
    detail="Sends POST to shop.example.",
    missing=[],
    because=[],
    policy=None,
    event_id=None,
    began_at=_ENTERED_AT,
    ended_at=None,
    webhook=Webhook(
        webhook_id=f"msg_{ENROLLMENT_ID.example}_1",
        method="POST",
        url="https://shop.example/orders",
        headers={"Content-Type": "application/json", "Authorization": "***"},
        body='{"orderId":"A-1042"}',
        state=WebhookDelivery.State.WAITING,
        result=None,
        waits_because=None,
        kept={"status": 200, "stock": 3},
        attempts_made=1,
        next_attempt_at=_at(19, 13, 2),
        attempts=[
            WebhookAttempt(
                number=1, at=_at(19, 8, 0, 420), milliseconds=2004, status=503, answer="Back soon.", error=None
            )
        ],
    ),
)
_HISTORY = filled(
    EnrollmentHistory,
    replace(_EXITED, state="active", goes_on_at=_at(19, 13, 2), exit_reason=None, ended_at=None),
    steps=[_NOTED, _SENDING],
    steps_begun=2,
    moves=[Moved(at=_at(19, 8, 0, 400), from_revision=2, to_revision=3, steps_begun=1)],
    next=None,
    next_cursor=None,
)


@get(
    path="journeys/{workspaceId}/enrollments/{enrollmentId}",
    scope=Scope.ENROLLMENTS,
    policy="lookup",
    tag="Journeys",
    ids=[ENROLLMENT_ID],
    says="The enrollment as it stands.",
    answer="The current state of the enrollment, with a page of its steps.",
    examples={"A webhook waits for its next attempt": _HISTORY},
)
def get_enrollment(asked: Asked[None, HistoryQuery], enrollment_id: str) -> EnrollmentHistory:
    """Get an enrollment

    Returns where a customer is in a journey, when the enrollment continues, and the outcome of each step with its
    reason. Webhook steps include the request and its attempts.

    Steps are returned in order, in pages of 50 by default and of at most 100 (`limit`). The history of a journey with a
    loop can be long: use `next` to get the next page.
    """
    after, limit = begin_of(asked.query), asked.query.limit
    history = enrollment_history(
        workspace_id=asked.workspace_id,
        enrollment_id=enrollment_id,
        after=-1 if after is None else after,
        limit=limit,
    )
    waits = waiting([step.delivery.id for step in history.steps if step.delivery and step.delivery.waits])
    following = None if history.last is None else written_place(history.last)
    return EnrollmentHistory.of(
        history.state,
        steps=[EnrollmentStep.of(step, waits) for step in history.steps],
        steps_begun=history.state.enrollment.steps_begun,
        moves=[Moved.of(move) for move in history.state.enrollment.moves or ()] or None,
        next=following,
        next_cursor=following,
    )


@post(
    path="journeys/{workspaceId}/enrollments/{enrollmentId}/exit",
    scope=Scope.ENROLLMENTS,
    policy="exit",
    tag="Journeys",
    ids=[ENROLLMENT_ID],
    says="The enrollment is exited; no step follows.",
    answer="The enrollment was exited.",
    requests={"Refunded": {"reason": "The order was refunded."}},
    examples={"Exited": _EXITED},
    refuses=[
        MissingParameter("reason is required."),
        EnrollmentAlreadyEnded("The enrollment is completed already."),
    ],
)
def exit_enrollment(asked: Asked[ExitBody, None], enrollment_id: str) -> Entered:
    """End an enrollment early

    The customer leaves the journey at once: no further step is run, and a waiting webhook is no longer sent, unless it
    is being sent at this moment. If the enrollment has already ended, it is left unchanged and the call is refused.
    """
    return Entered.of(end(workspace_id=asked.workspace_id, enrollment_id=enrollment_id, reason=asked.body.reason))
