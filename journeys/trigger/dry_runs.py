"""The answer to a dry run: what a trigger call would do."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from customers.audience.selection import LeftOut
from engage.database.object_ids import ObjectId
from engage.json.compact import ascii_json
from engage.json.fields import LEFT_OUT, filled
from engage.json.keywords import Keywords, known
from engage.json.writing import written
from journeys.engine.entering.dry_runs import DryRun, Tried
from journeys.engine.operations.redaction import without_values
from journeys.models.choices import ElseStoodFor
from journeys.rules.entry_rules import Verdict
from journeys.steps.rehearsal import Rehearsal, TimedRecord
from journeys.steps.results import State, TrackedEvent, WebhookRequest
from journeys.steps.secrets import url_without_secrets
from journeys.trigger.recipients import RefusedRecipient

DRY_RUN_MESSAGE = "A dry run: this is what the call would do. Nothing was queued."


@dataclass(frozen=True, kw_only=True)
class RehearsedWebhookData:
    """A webhook as it would be sent, without its signature. Values of headers are hidden, but that of `Content-Type`,
    and so are those of the URL's query that look like credentials.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: Annotated[str | None, "The body as the text of JSON or of a form; null if the request has none."]

    @classmethod
    def of(cls, request: WebhookRequest) -> "RehearsedWebhookData":
        headers = without_values(request.headers)
        return filled(cls, request, url=url_without_secrets(request.url), headers=headers)


@dataclass(frozen=True, kw_only=True)
class RehearsedEventData:
    """An event that would be recorded."""

    event_name: str
    event_properties: Mapping[str, Any]

    @classmethod
    def of(cls, event: TrackedEvent) -> "RehearsedEventData":
        return cls(event_name=event.name, event_properties=event.properties)


@dataclass(frozen=True, kw_only=True)
class RehearsedStepData:
    """The result of one step. A step that waits is listed twice: when it begins, and when it is over."""

    at: Annotated[datetime, "When this would happen, on a virtual clock that skips over waits."]
    step_id: str
    type: str
    state: State
    detail: Annotated[str, "The outcome of the step, as text."]
    missing: Annotated[Sequence[str], "The names used in the step's templates that have no value."]
    because: Annotated[Sequence[str], "The values that decide which way a `branch` goes; empty for other steps."]
    request: Annotated[RehearsedWebhookData | None, "The webhook that would be sent; null if there is none."]
    writes: Annotated[
        Mapping[str, Any] | None,
        "The attributes that would be written, where a value of null deletes the attribute; null if there are none.",
    ]
    event: Annotated[RehearsedEventData | None, "The event that would be recorded; null if there is none."]

    @classmethod
    def of(cls, step: TimedRecord) -> "RehearsedStepData":
        record = step.step_record
        return filled(
            cls,
            record,
            at=step.at,
            request=RehearsedWebhookData.of(record.request) if record.request else None,
            event=RehearsedEventData.of(record.tracked) if record.tracked else None,
        )


@dataclass(frozen=True, kw_only=True)
class RehearsedEndData:
    """How the customer would leave the journey."""

    state: Annotated[
        Literal["completed", "exited", "unfinished"],
        "`unfinished` if the dry run stopped at its limit of steps or of computing time.",
    ]
    reason: str

    @classmethod
    def of(cls, rehearsal: Rehearsal) -> "RehearsedEndData":
        if rehearsal.ended is None:
            return cls(state="unfinished" if rehearsal.steps else "completed", reason=rehearsal.ending)
        return cls(state="exited" if rehearsal.ended.exited else "completed", reason=rehearsal.ending)


@dataclass(frozen=True, kw_only=True)
class RehearsalData:
    """The steps that the customer would go through if they were enrolled now, or when they are due."""

    steps: Annotated[
        Sequence[RehearsedStepData],
        "The steps in order. Webhooks are assumed to succeed, and waits for an event to last until they time out.",
    ]
    end: RehearsedEndData

    @classmethod
    def of(cls, rehearsal: Rehearsal) -> "RehearsalData":
        return cls(steps=[*map(RehearsedStepData.of, rehearsal.steps)], end=RehearsedEndData.of(rehearsal))


@dataclass(frozen=True, kw_only=True)
class _OfJourney:
    journey_id: Annotated[ObjectId, "The journey's id."]
    status: Literal["dry_run"] = "dry_run"
    queued: Literal[False] = False


def _counted(page: Sequence[Tried]) -> Iterator[Any]:
    """Their results, and of those who are due by a zone whether `else` stood in."""
    for one in page:
        yield from (one.result.value, one.else_stood_in)


@dataclass(frozen=True, kw_only=True)
class DryRunData(LeftOut, _OfJourney):
    """What the call would do. Nothing was written and nothing was queued."""

    found: Annotated[int, "The number of customers that the call would queue.", Keywords(minimum=0)]
    results: Annotated[
        Mapping[str, int],
        "The number of these customers with each result. Results without customers are omitted.",
        Keywords(propertyNames={"type": "string", **known([verdict.value for verdict in Verdict]).schema}),
    ]
    else_stood_in: ElseStoodFor = None
    customers: Annotated[
        Sequence[Tried] | None,
        "The customers that the call would queue. Omitted if a call for many customers sends `Prefer: return=minimal`.",
        LEFT_OUT,
    ] = None
    refused: Annotated[
        Sequence[RefusedRecipient] | None,
        "The recipients that would be refused, of a call with `recipients`.",
        LEFT_OUT,
    ] = None
    rehearsal: Annotated[
        RehearsalData | None,
        "Only for a call for one customer: present even if the customer would not be enrolled, but not if they are "
        "excluded.",
        LEFT_OUT,
    ] = None

    @classmethod
    def of(cls, run: DryRun, *, listed: bool) -> "DryRunData":
        """The answer in one piece; without the customers unless `listed`."""
        results, customers = Counter[Any](), list[Tried]()
        for page in run.pages:
            results.update(_counted(page))
            customers += page if listed else ()
        return cls._of(run, results, customers=customers if listed else None)

    @classmethod
    def _of(cls, run: DryRun, results: Counter[Any], *, customers: Sequence[Tried] | None = None) -> "DryRunData":
        return cls(
            **vars(run.left_out),
            journey_id=run.journey_id,
            found=sum(number for name, number in results.items() if isinstance(name, str)),
            results={name: number for name, number in results.items() if isinstance(name, str)},
            else_stood_in=results[True] if {True, False} & results.keys() else None,
            customers=customers,
            rehearsal=RehearsalData.of(run.rehearsal) if run.rehearsal else None,
        )

    @classmethod
    def pieces(cls, run: DryRun) -> Iterator[str]:
        """The whole answer in pieces, a page of customers each: a million take no more memory than a thousand."""
        yield f'{{"success":true,"message":{ascii_json(DRY_RUN_MESSAGE)},"data":{{"customers":['
        results = Counter[Any]()
        for number, page in enumerate(run.pages):
            results.update(_counted(page))
            yield ("," if number else "") + ascii_json([*map(written, page)])[1:-1]
        yield f"],{ascii_json(written(cls._of(run, results)))[1:]}}}"
