"""The results of walking: values that describe what happened and where the enrollment stops. The caller writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from journeys.steps.contact import Asked

State = Literal["done", "waiting", "failed", "skipped"]


@dataclass(frozen=True, kw_only=True)
class TrackedEvent:
    """An event to record for the customer. Unless it `reacts`, it starts and moves no journey.

    `chain` counts the events that led to it by way of journeys, of which at least the enrollment's own recorded it.
    """

    name: str
    properties: Mapping[str, Any]
    chain: int
    reacts: bool


@dataclass(frozen=True, kw_only=True)
class AlreadyHappened:
    """The event that ended a wait as it began, with the events that led to it."""

    event_id: str
    chain: int


@dataclass(frozen=True, kw_only=True)
class WebhookRequest:
    """A rendered webhook to be sent to `host` (which includes the port); `body` is the text of JSON or of a form.

    `answer_rules` are what is made of its answer, as JSON; no attempt begins later than `give_up_after` from its start.
    If it is sent by a connection, that has the circuit. `secret_url` is called in place of `url`, which is shown.
    `channel` and `address`: by which way it goes to whom.
    """

    method: str
    url: str
    host: str
    headers: Mapping[str, str]
    body: str | None
    answer_rules: Mapping[str, Any] | None = None
    give_up_after: timedelta | None = None
    connection_id: str | None = None
    secret_url: str | None = field(default=None, repr=False)
    channel: str = "other"
    address: str = field(default="", repr=False)

    @property
    def authority(self) -> str:
        """Host and port as they are written."""
        return self.url.partition("://")[2].partition("/")[0].partition("?")[0]


@dataclass(frozen=True, kw_only=True)
class InAppDelivery:
    """A message to deliver, by its key, with the values that its texts read."""

    message: str
    values: Mapping[str, Any]
    priority: int
    expires_after: timedelta
    withdraw_on_exit: bool


class StepRecord(NamedTuple):
    """The result of one step: a row of the enrollment's history.

    `resumed`: this is the end of a step that began in an earlier walk. The state `waiting` is a delay, a wait for an
    event, a webhook to be sent, or a message that may not be
    sent yet. `missing` lists the template variables without a value. None in `writes` deletes.
    `because` quotes the values that decided, which `detail` never does. `asked` is what the contact
    policy said, where it was asked.

    A walk makes one for each step, and a tuple is made in a third of the time of a frozen dataclass.
    """

    step_id: str
    type: str
    resumed: bool
    state: State
    detail: str
    missing: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    writes: Mapping[str, Any] | None = None
    tracked: TrackedEvent | None = None
    request: WebhookRequest | None = None
    heard: AlreadyHappened | None = None
    in_app: InAppDelivery | None = None
    asked: Asked | None = None


class NamedStep(Protocol):
    """What a record needs to know of its step."""

    @property
    def id(self) -> str: ...

    @property
    def type(self) -> str: ...


def step_record(
    step: NamedStep,
    state: State,
    detail: str,
    *,
    resumed: bool = False,
    missing: tuple[str, ...] = (),
    because: tuple[str, ...] = (),
    writes: Mapping[str, Any] | None = None,
    tracked: TrackedEvent | None = None,
    request: WebhookRequest | None = None,
    heard: AlreadyHappened | None = None,
    in_app: InAppDelivery | None = None,
    asked: Asked | None = None,
) -> StepRecord:
    """The step's record."""
    return StepRecord(
        step.id, step.type, resumed, state, detail, missing, because, writes, tracked, request, heard, in_app, asked
    )


class StepFailed(Exception):
    """A step failed in an expected way, for example because of its templates; `detail` goes into the failed record."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class StepSkipped(Exception):
    """A step has nothing to do; `detail` says why. The walk goes on."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@dataclass(frozen=True)
class First:
    """The step has not begun."""


@dataclass(frozen=True)
class TimedOut:
    """The step has begun, and its time is over."""


@dataclass(frozen=True)
class Heard:
    """What the step waits for has come; if that is an event, it is `event` in the context."""


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The webhook's final result; `reason` describes it in a sentence. `dropped`: it may not be sent any more."""

    ok: bool
    reason: str
    dropped: bool = False


Arrival = First | TimedOut | Heard | Answered
Resumption = TimedOut | Heard | Answered


class GoTo(NamedTuple):
    """The walk goes on: to a step, or (None) to the end of the journey."""

    step_id: str | None


@dataclass(frozen=True, kw_only=True)
class Wait:
    """The step has begun and ends at `due_at`."""

    assumed: ClassVar[Arrival] = TimedOut()

    step_id: str
    due_at: datetime


@dataclass(frozen=True, kw_only=True)
class AwaitEvent:
    """The step has begun and ends when an event matches its pattern, at `due_at` at the latest."""

    assumed: ClassVar[Arrival] = TimedOut()

    step_id: str
    event_name: str
    due_at: datetime


@dataclass(frozen=True, kw_only=True)
class AwaitChange:
    """The step has begun and ends when its condition holds, at `until` at the latest; it is to look at `due_at`."""

    assumed: ClassVar[Arrival] = TimedOut()

    step_id: str
    due_at: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True)
class Send:
    """The webhook of the last record must be sent; its final result ends the step."""

    assumed: ClassVar[Arrival] = Answered(ok=True, reason="Assumed: the webhook succeeds.")

    step_id: str


@dataclass(frozen=True, kw_only=True)
class Pause:
    """The limit of one walk is reached: another walk continues at once, from this step."""

    assumed: ClassVar[Arrival] = First()

    step_id: str


class Ended(NamedTuple):
    """The enrollment is over: completed or exited, for this reason. `step_id` is the step at which it ended."""

    step_id: str
    exited: bool
    reason: str


# What is `assumed` of a stop is how a rehearsal goes on: as if no event came and every webhook succeeded.
Stop = Wait | AwaitEvent | AwaitChange | Send | Pause | Ended


class StepResult(NamedTuple):
    """One step's record, and what follows."""

    step_record: StepRecord
    then: GoTo | Stop


class Walk(NamedTuple):
    """The step records in order, and where the enrollment stops. `withdraws`: by that, messages may be withdrawn.

    `may_exit`: a condition may come to end it there.
    """

    step_records: tuple[StepRecord, ...]
    stop: Stop
    withdraws: bool = False
    may_exit: bool = False


def in_words(moment: datetime) -> str:
    """The instant as a detail shows it: "2026-11-22T09:00:00Z"."""
    written = moment.astimezone(UTC).isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return written.replace("+00:00", "Z")


def going_on(step_id: str | None) -> str:
    """The closing words of a detail: where the walk goes on."""
    return "the journey ends" if step_id is None else f"goes on to {step_id!r}"
