"""The call that triggers a journey, for one customer or for many, and its dry run."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request as HttpRequest

from customers.api.path_ids import ADA, BOB
from customers.audience.segments import ErrorResolvingSegments
from customers.audience.selection import LARGE, Audience, NamedCustomer, is_large
from engage.calls.asked import Asked
from engage.calls.call import Answered, post
from engage.calls.queries import DryRun
from engage.database.statement_limit import LargeWorkInProgress, in_one_thread
from engage.errors import MissingParameter
from engage.http.long_answers import LongAnswer, long_answer, while_told
from engage.http.parsing import body_too_large
from engage.http.views import ServerView
from engage.json.keywords import OneOf
from engage.json.reading import ArraySizeExceeded
from engage.json.writing import written
from engage.notations.sizes import MAX_BODY_BYTES, MAX_RECIPIENTS_BYTES
from engage.scopes import Scope, require_scope
from journeys.engine.entering.dry_runs import Tried, dry_run_many, dry_run_one, dry_run_recipients
from journeys.engine.entering.payloads import PayloadInvalid
from journeys.engine.entering.recipients import recipients_queued_before, trigger_recipients
from journeys.engine.entering.terms import Request
from journeys.engine.entering.trigger import (
    ExcludedOne,
    InvalidJourneyType,
    QueuedMany,
    QueuedOne,
    Recipient,
    queued_before,
    trigger_many,
    trigger_one,
)
from journeys.faces.path_ids import ADAS_JOB, BOBS_JOB, JOURNEY_ID, TRIGGER_ID
from journeys.rules.entry_rules import Verdict
from journeys.steps.payloads import Mistake
from journeys.trigger.answers import QueuedManyData, pieces, whole
from journeys.trigger.bodies import NOBODY_NAMED, TriggerBody
from journeys.trigger.dry_runs import (
    DRY_RUN_MESSAGE,
    DryRunData,
    RehearsalData,
    RehearsedEndData,
    RehearsedStepData,
    RehearsedWebhookData,
)
from journeys.trigger.recipients import (
    NO_RECIPIENT_NAMED,
    InvalidRecipient,
    QueuedRecipientData,
    RefusedRecipient,
    read_recipients,
    with_those_found,
)

_RETURN = re.compile(r"(?:^|,)\s*return\s*=\s*\"?([a-z]+)\"?\s*(?=[,;]|$)", re.IGNORECASE)


Triggered = Annotated[QueuedOne | QueuedManyData | ExcludedOne | DryRunData, OneOf("Triggered")]


class _TriggerView(ServerView):
    def accept_body(self, raw: bytes) -> None:
        """Takes more than other calls only where it has recipients."""
        if len(raw) > MAX_BODY_BYTES and b'"recipients"' not in raw:
            raise body_too_large(MAX_BODY_BYTES)

    def replay(self, facts: Mapping[str, Any]) -> Iterator[str]:
        if "places" not in facts:
            work = in_one_thread() if facts["customers"] > LARGE else nullcontext()
            return while_told(work, pieces(queued_before(**facts)))
        refused = [RefusedRecipient(**one) for one in facts["refused"]]
        queued = recipients_queued_before(**{name: value for name, value in facts.items() if name != "refused"})
        return whole(QueuedManyData.of_recipients(queued, refused))


_EXCLUDED_SAYS = "The customer is on the call's list of exclusions; nothing was queued."
_PREFERENCES = [
    OpenApiParameter(
        "Prefer",
        location=OpenApiParameter.HEADER,
        description="Send `return=minimal` with a call for many customers to omit `customerIds` and `jobIds`, or the "
        "`customers` of a dry run, from the answer.",
    ),
    OpenApiParameter(
        "Preference-Applied",
        location=OpenApiParameter.HEADER,
        description="`return=minimal` if it was requested and applied.",
        response=[200, 202],
    ),
]
_MINIMAL = {"Preference-Applied": "return=minimal"}

_JOURNEY, _TRIGGER = JOURNEY_ID.example, TRIGGER_ID.example
_QUEUED_ONE = QueuedOne(customer_id=ADA, journey_id=_JOURNEY, job_id=ADAS_JOB, trigger_id=_TRIGGER)
_QUEUED_MANY = QueuedManyData(
    journey_id=_JOURNEY,
    customers_enrolled=2,
    trigger_id=_TRIGGER,
    customer_ids=[ADA, BOB],
    job_ids=[ADAS_JOB, BOBS_JOB],
)
_QUEUED_RECIPIENTS = replace(
    _QUEUED_MANY,
    recipients=[
        QueuedRecipientData(index=0, customer_id=ADA, job_id=ADAS_JOB),
        QueuedRecipientData(index=1, customer_id=BOB, job_id=BOBS_JOB),
    ],
    refused=[RefusedRecipient.of(2, InvalidRecipient(NO_RECIPIENT_NAMED))],
)
_NOBODY = replace(_QUEUED_MANY, customers_enrolled=0, customer_ids=[], job_ids=[])
_TRIED = Tried(
    customer_id=ADA, external_id="ada", result=Verdict.ENROLLED, reason="The customer met the entry rules.", details=[]
)
_INSIDE = "The customer was in the journey already: enrollment 6a0b1c2fe4b0a1d2c3e4f504."
_REHEARSAL = RehearsalData(
    steps=[
        RehearsedStepData(
            at=datetime(2026, 11, 20, 19, 8, 0, 123000, tzinfo=UTC),
            step_id="tell-sales",
            type="webhook",
            state="waiting",
            detail="Sends POST to shop.example.",
            missing=["customer.first_name"],
            because=[],
            request=RehearsedWebhookData(
                method="POST",
                url="https://shop.example/orders",
                headers={"Content-Type": "application/json"},
                body='{"order":"A-1042","name":""}',
            ),
            writes=None,
            event=None,
        )
    ],
    end=RehearsedEndData(state="completed", reason="The last step is done."),
)
_DRY_RUN = DryRunData(journey_id=_JOURNEY, found=1, results={"enrolled": 1}, customers=[_TRIED], rehearsal=_REHEARSAL)
_DRY_RUN_OF_MANY = DryRunData(
    journey_id=_JOURNEY,
    unknown=["nobody"],
    excluded=[NamedCustomer(customer_id=BOB, external_id="bob")],
    found=1,
    results={"already_enrolled": 1},
    customers=[replace(_TRIED, result=Verdict.ALREADY_ENROLLED, reason=_INSIDE)],
)


def _done(data: Any, says: str) -> Answered[Any]:
    """An answer after which nothing is queued."""
    return Answered(data=data, says=says, status=HTTPStatus.OK)


@post(
    path="journeys/{workspaceId}/{journeyId}/trigger",
    scope=Scope.TRIGGER,
    policy="trigger",
    tag="Journeys",
    ids=[replace(JOURNEY_ID, description="The id of the journey to trigger, or its key. The journey must be active.")],
    parameters=_PREFERENCES,
    status=HTTPStatus.ACCEPTED,
    says="The customer is queued for the journey.",
    answer={
        HTTPStatus.ACCEPTED: "The customers are queued and the jobs are committed. A worker checks the entry rules "
        "later. If a call for many customers selects nobody, nothing is queued, and the message says so; look up the "
        "trigger to see whom it left out.",
        HTTPStatus.OK: "Nothing was queued: the customer is in the call's own `exclude_external_ids`, or the call was "
        "a dry run.",
    },
    answer_name="TriggerAnswer",
    requests={
        "One customer": {"external_id": "ada", "payload": {"orderId": "A-1042", "total": 59.9}},
        "One customer by e-mail address": {"email": "ada@example.com"},
        "Many customers": {"external_ids": ["ada", "bob"], "payload": {"campaign": "spring"}},
        "Each with a payload": {
            "recipients": [
                {"external_id": "ada", "payload": {"orderId": "A-1042"}},
                {"email": "bob@example.com", "payload": {"orderId": "A-1043"}},
                {"payload": {"orderId": "A-1044"}},
            ],
            "payload": {"shop": "Berlin"},
        },
        "Later": {"external_id": "ada", "scheduledFor": "2026-12-24T08:00:00Z", "expiresAt": "2026-12-24T20:00:00Z"},
        "A segment without one member": {"segment_ids": ["68a1f0c2e4b0a1d2c3e4f5b1"], "exclude_external_ids": ["bob"]},
    },
    examples={
        "One customer": _QUEUED_ONE,
        "Many customers": Answered(data=_QUEUED_MANY, says=_QUEUED_MANY.says),
        "Recipients, one refused": Answered(data=_QUEUED_RECIPIENTS, says=_QUEUED_RECIPIENTS.says),
        "Nobody selected": Answered(data=_NOBODY, says=_NOBODY.says),
        "Excluded": _done(ExcludedOne(customer_id=ADA, journey_id=_JOURNEY), _EXCLUDED_SAYS),
        "Dry run for one customer": _done(_DRY_RUN, DRY_RUN_MESSAGE),
        "Dry run for many": _done(_DRY_RUN_OF_MANY, DRY_RUN_MESSAGE),
    },
    refuses=[
        MissingParameter(NOBODY_NAMED),
        ArraySizeExceeded("external_ids holds 1001 items; its maximum is 1000."),
        InvalidJourneyType("The journey is not configured for API triggering; its current trigger type is 'event'."),
        ErrorResolvingSegments("These segments do not exist in this workspace: '68a1f0c2e4b0a1d2c3e4f5b2'."),
        PayloadInvalid.of([Mistake("payload.orderId", 'does not meet type: "string"')]),
        Recipient(field="external_id", value="ada").not_found(),
        LargeWorkInProgress(),
    ],
    once=True,
    often=True,
    max_body_bytes=MAX_RECIPIENTS_BYTES,
    view=_TriggerView,
)
def trigger_journey(asked: Asked[TriggerBody, DryRun], journey_id: str) -> Answered[Triggered] | LongAnswer:
    """Trigger a journey

    Queues one or many customers to enter a journey whose trigger type is API. A worker then checks the journey's entry
    rules and creates the enrollments. Look up the job or the trigger to see the result. An event that ends the journey
    counts from now on: customers who leave before the worker has come get no step of it.

    **One customer:** send `customerId`, `external_id` or `email`. If you send more than one, only the first in this
    order is used. The customer must exist: a trigger never creates one.

    **Many customers:** send `external_ids`, `segment_ids` or both. With both, only the customers who are in both are
    queued. No customer is queued twice. Calls for segments of more than 10,000 people are served one at a time by each
    web process; another is 503 `large_work_in_progress`, to be sent again.

    **Entrance:** `entranceId` names what an entry is for, such as an order. Each customer enters the journey once for
    it: a repeat gets a job, which is decided `duplicate_entrance`, and `duplicates` names the first job. In
    `recipients`, each may have its own, and one customer several.

    **Schedule:** with `scheduledFor`, the jobs are due then, or at a time in each customer's own zone. Until then they
    are queued and can be cancelled. The entry rules are applied, and first waits count, from then on; events that end
    the journey count from the call on. `expiresAt` is when a job that is not decided yet comes to nothing.

    **Recipients:** send `recipients`, up to 1,000 customers, each with one identifier and a `payload` of their own. It
    takes precedence, key by key, over the call's `payload`. What is wrong with one recipient is told in `refused`, and
    the others are queued. Unknown ones are skipped, and the trigger's look-up has their places. The body may then be
    4 MiB large, and it counts as one call.

    The three forms cannot be mixed. If the journey says what payloads must be (`payloadSchema`), one that breaks that
    is refused with the places (422 `payload_invalid`), and a recipient's is told in `refused`.

    **Dry run:** `?dryRun=true` returns what the call would do. It is validated, and can be refused, exactly like the
    call. It decides on every customer as a worker would decide now, or at the time for which they are scheduled if
    nothing changes until then. For one customer, it also goes through the journey's steps, from that time on, on a
    virtual clock that skips over waits. Nothing is written and nothing is queued. A dry run counts
    towards the rate limit.
    """
    request = asked.body.request(workspace_id=asked.workspace_id, journey_id=journey_id, called_by=asked.key.id)
    if asked.query.dry_run:  # it shows what is known of people
        require_scope(asked.key.scopes, Scope.CUSTOMERS_READ)
        return _tried(asked, request)
    if asked.body.recipients:
        return _recipients(asked, request)
    if asked.body.recipient is None:
        return _many(asked, request)
    outcome = trigger_one(request, asked.body.recipient)
    return _done(outcome, _EXCLUDED_SAYS) if isinstance(outcome, ExcludedOne) else Answered(data=outcome)


def _many(asked: Asked[TriggerBody, DryRun], request: Request) -> Answered[Triggered] | LongAnswer:
    with ExitStack() as work:
        work.enter_context(_work_on(asked.body.audience, workspace_id=asked.workspace_id))
        queued = trigger_many(request, asked.body.audience)
        return _told(asked, queued, work.pop_all())


def _told(asked: Asked[TriggerBody, DryRun], queued: QueuedMany, work: ExitStack) -> Answered[Triggered] | LongAnswer:
    if _prefers_minimal(asked.request):
        work.close()
        data = QueuedManyData.of(queued)
        return Answered(data=data, says=data.says, headers=_MINIMAL)
    facts = {
        "journey_id": queued.trigger.journey_id,
        "trigger_id": queued.trigger.id,
        "customers": queued.trigger.customers,
        "queued_ms": queued.trigger.queued_ms,
    }
    if queued.scheduled_for:
        facts["scheduled_for"] = queued.scheduled_for.isoformat()
    if queued.duplicates is not None:
        facts["duplicates"] = [vars(one) for one in queued.duplicates]
    return long_answer(while_told(work, pieces(queued)), facts=facts, status=HTTPStatus.ACCEPTED)


def _work_on(audience: Audience, *, workspace_id: str) -> AbstractContextManager[None]:
    return in_one_thread() if is_large(audience, workspace_id=workspace_id) else nullcontext()


def _recipients(asked: Asked[TriggerBody, DryRun], request: Request) -> Answered[Triggered] | LongAnswer:
    sent, refused = read_recipients(asked.body.recipients or (), entrance=asked.body.entrance_id)
    queued = trigger_recipients(request, sent)
    refused = with_those_found(refused, twice=queued.twice, broken=queued.broken)
    if _prefers_minimal(asked.request):
        data = QueuedManyData.of_recipients(queued, refused, listed=False)
        return Answered(data=data, says=data.says, headers=_MINIMAL)
    facts = {
        "journey_id": queued.journey_id,
        "trigger_id": queued.trigger_id,
        "places": [one.index for one in queued.recipients],
        "refused": [written(one) for one in refused],
        "duplicates": [list(one) for one in queued.duplicates],
    }
    data = QueuedManyData.of_recipients(queued, refused)
    return long_answer(whole(data), facts=facts, status=HTTPStatus.ACCEPTED)


def _tried(asked: Asked[TriggerBody, DryRun], request: Request) -> Answered[Triggered] | LongAnswer:
    body, minimal = asked.body, _prefers_minimal(asked.request)
    if body.recipient:
        run = dry_run_one(request, body.recipient, now=timezone.now())
        return _done(DryRunData.of(run, listed=True), DRY_RUN_MESSAGE)
    if body.recipients:
        sent, refused = read_recipients(body.recipients, entrance=body.entrance_id)
        run, twice, broken = dry_run_recipients(request, sent)
        refused = with_those_found(refused, twice=twice, broken=broken)
        data = replace(DryRunData.of(run, listed=not minimal), refused=refused)
        return replace(_done(data, DRY_RUN_MESSAGE), headers=_MINIMAL if minimal else {})
    with ExitStack() as work:
        work.enter_context(_work_on(body.audience, workspace_id=asked.workspace_id))
        run = dry_run_many(request, body.audience)
        if minimal:
            return replace(_done(DryRunData.of(run, listed=False), DRY_RUN_MESSAGE), headers=_MINIMAL)
        return long_answer(while_told(work.pop_all(), DryRunData.pieces(run)))


def _prefers_minimal(request: HttpRequest) -> bool:
    """Whether `Prefer: return=minimal` was sent; of several preferences for `return` the first counts (RFC 7240)."""
    preferred = _RETURN.search(request.headers.get("Prefer", ""))
    return preferred is not None and preferred.group(1).lower() == "minimal"
