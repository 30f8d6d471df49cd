"""The answer to a dry run: what a trigger call would do."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from engage.database.object_ids import ObjectId
from engage.http.spelling import spelled
from engage.json.compact import ascii_json
from engage.json.instants import Instant, iso_utc
from engage.json.keywords import Keywords, known
from journeys.api.triggers.left_out_answers import LeftOutData, NamedCustomerData, left_out_data, named_data
from journeys.entering.dry_runs import DryRun, Tried
from journeys.entry_rules import Verdict
from journeys.operations.redaction import url_without_secrets, without_values
from journeys.steps.rehearsal import Rehearsal
from journeys.steps.results import StepRecord, WebhookRequest

DRY_RUN_MESSAGE = "A dry run: this is what the call would do. Nothing was queued."
_RESULTS = known([verdict.value for verdict in Verdict])


class TriedCustomerData(NamedCustomerData):
    """A customer whom the call would queue, and what a worker would decide now."""

    result: Annotated[str, "The result that the job would have.", _RESULTS]
    reason: Annotated[str, "The reason for the result, as text."]
    details: Annotated[
        list[str],
        "For `conditions_not_met`: the tests that fail, each with the value that is there and what is wanted. Empty "
        "for other results.",
    ]


class RehearsedWebhookData(TypedDict):
    """A webhook as it would be sent, without its signature. Values of headers are hidden, but that of `Content-Type`,
    and so are those of the URL's query that look like credentials.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: Annotated[str | None, "The body as JSON text; null if the request has none."]


class RehearsedEventData(TypedDict):
    """An event that would be recorded."""

    eventName: str
    eventProperties: Mapping[str, Any]


class RehearsedStepData(TypedDict):
    """The result of one step. A step that waits is listed twice: when it begins, and when it is over."""

    at: Annotated[Instant, "When this would happen, on a virtual clock that skips over waits."]
    stepId: str
    type: str
    state: Literal["done", "waiting", "failed"]
    detail: Annotated[str, "The outcome of the step, as text."]
    missing: Annotated[list[str], "The names used in the step's templates that have no value."]
    because: Annotated[list[str], "The values that decide which way a `branch` goes; empty for other steps."]
    request: Annotated[RehearsedWebhookData | None, "The webhook that would be sent; null if there is none."]
    writes: Annotated[
        Mapping[str, Any] | None,
        "The attributes that would be written, where a value of null deletes the attribute; null if there are none.",
    ]
    event: Annotated[RehearsedEventData | None, "The event that would be recorded; null if there is none."]


class RehearsedEndData(TypedDict):
    """How the customer would leave the journey."""

    state: Annotated[
        Literal["completed", "exited", "unfinished"],
        "`unfinished` if the dry run stopped at its limit of steps or of computing time.",
    ]
    reason: str


class RehearsalData(TypedDict):
    """The steps that the customer would go through if they were enrolled now."""

    steps: Annotated[
        list[RehearsedStepData],
        "The steps in order. Webhooks are assumed to succeed, and waits for an event to last until they time out.",
    ]
    end: RehearsedEndData


class DryRunData(LeftOutData):
    """What the call would do. Nothing was written and nothing was queued."""

    journeyId: Annotated[ObjectId, "The journey's id."]
    status: Literal["dry_run"]
    queued: Literal[False]
    customers: NotRequired[
        Annotated[
            list[TriedCustomerData],
            "The customers that the call would queue. Omitted if a call for many customers sends "
            "`Prefer: return=minimal`.",
        ]
    ]
    found: Annotated[int, "The number of customers that the call would queue.", Keywords(minimum=0)]
    results: Annotated[
        Mapping[str, int],
        "The number of these customers with each result. Results without customers are omitted.",
        Keywords(propertyNames={"type": "string", **_RESULTS.schema}),
    ]
    rehearsal: NotRequired[
        Annotated[
            RehearsalData,
            "Only for a call for one customer: present even if the customer would not be enrolled, but not if they "
            "are excluded.",
        ]
    ]


def dry_run_data(run: DryRun, *, listed: bool) -> DryRunData:
    """The answer in one piece; without the customers unless `listed`."""
    customers: list[TriedCustomerData] = []
    results = Counter[str]()
    for page in run.pages:
        results.update(_results(page))
        customers += [tried_data(one) for one in page] if listed else []
    data = _summary(run, results)
    if listed:
        data["customers"] = customers
    if run.rehearsal is not None:
        data["rehearsal"] = rehearsal_data(run.rehearsal)
    return data


def dry_run_pieces(run: DryRun) -> Iterator[str]:
    """The answer in pieces, a page of customers each: a million take no more memory than a thousand."""
    yield f'{{"success":true,"message":{ascii_json(DRY_RUN_MESSAGE)},"data":{{"customers":['
    results = Counter[str]()
    for number, page in enumerate(run.pages):
        results.update(_results(page))
        yield ("," if number else "") + ascii_json([tried_data(one) for one in page])[1:-1]
    yield f"],{ascii_json(_summary(run, results))[1:]}}}"


def _summary(run: DryRun, results: Counter[str]) -> DryRunData:
    """Everything but the customers and the rehearsal."""
    left_out = left_out_data(run.left_out)
    return {
        "journeyId": run.journey_id,
        "status": "dry_run",
        "queued": False,
        "unknownExternalIds": left_out["unknownExternalIds"],
        "excluded": left_out["excluded"],
        "notInSegments": left_out["notInSegments"],
        "found": results.total(),
        "results": results,
    }


def _results(page: Sequence[Tried]) -> Iterator[str]:
    return (one.decision.verdict.value for one in page)


def tried_data(one: Tried) -> TriedCustomerData:
    return {
        **named_data(one.customer),
        "result": one.decision.verdict.value,
        "reason": one.decision.reason,
        "details": list(one.decision.details),
    }


def rehearsal_data(rehearsal: Rehearsal) -> RehearsalData:
    return {
        "steps": [_step(step.at, step.step_record) for step in rehearsal.steps],
        "end": {"state": _end_state(rehearsal), "reason": rehearsal.ending},
    }


def _end_state(rehearsal: Rehearsal) -> Literal["completed", "exited", "unfinished"]:
    if rehearsal.ended is None:
        return "unfinished" if rehearsal.steps else "completed"
    return "exited" if rehearsal.ended.exited else "completed"


def _step(at: datetime, step_record: StepRecord) -> RehearsedStepData:
    request, tracked = step_record.request, step_record.tracked
    return spelled(
        RehearsedStepData,
        step_record,
        at=iso_utc(at),
        request=_request(request) if request else None,
        event=RehearsedEventData(eventName=tracked.name, eventProperties=tracked.properties) if tracked else None,
    )


def _request(request: WebhookRequest) -> RehearsedWebhookData:
    headers = without_values(request.headers)
    return spelled(RehearsedWebhookData, request, url=url_without_secrets(request.url), headers=headers)
