"""What the steps say that write to people: what it is about, or that it is no advertising, and when it may be.

`"topic": "offers"` (the journey's where it is left out), or `"purpose": "transactional"`, and a `window` that has to be
open beside those of the contact policy. When such a step begins, the contact policy is asked: the step is skipped, or
waits until a moment at which all is asked again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from customers.contact.policy import LONGEST_TOPIC, WINDOW_FIELDS, read_window
from customers.contact.windows import Window
from engage.json.described import told, within, written
from engage.json.documents import Part, Reading
from journeys.steps.contact import OTHER, Asked, Sent
from journeys.steps.context import StepContext
from journeys.steps.kinds import Kind, following
from journeys.steps.request import one_of
from journeys.steps.results import GoTo, StepResult, Wait, step_record
from journeys.steps.written import Written

TRANSACTIONAL = "transactional"
NO_TOPIC = 'writes to people, and says neither its topic nor "purpose": "transactional".'


def no_topic(key: str) -> str:
    """Why a topic is refused that the workspace does not have."""
    return f"is {key!r}, but the workspace has no topic with this key."


def silent_steps(topic: str | None, steps: Mapping[str, object]) -> list[int]:
    """The places of those that write to people and say neither, nor does their journey, whose `topic` it is."""
    if topic is not None:
        return []
    each = enumerate(steps.values())
    return [place for place, step in each if isinstance(step, ContactingStep) and not step.says_what_for]


def _read_topic(step: Written, part: Part) -> str:
    key = part.text(at_most=LONGEST_TOPIC)
    if step.known is not None and not step.stored and key not in step.known.topics:
        part.refuse(no_topic(key))
    return key


def _read_window(_: object, part: Part) -> Window:
    required, optional = WINDOW_FIELDS
    with Reading() as read:
        fields = part.fields(required=required, optional=optional, reading=read)
    return read_window(part, fields, key="step")


@dataclass(frozen=True, kw_only=True)
class ContactingStep(Kind):
    """Writes to somebody, if it may."""

    topic: str | None = within(
        "topic",
        _read_topic,
        default=None,
        or_null=True,
        about=told("Topic", "words", "What it is about, by its key; the journey's if empty."),
    )
    purpose: str | None = written(
        "purpose",
        one_of(TRANSACTIONAL),
        default=None,
        or_null=True,
        about=told("Purpose", "words", "transactional for what is no advertising, such as a receipt."),
    )
    window: Window | None = within(
        "window",
        _read_window,
        default=None,
        or_null=True,
        about=told("Only at times of day", "json", 'Such as {"from": "09:00", "until": "20:00"}.'),
    )
    next: str | None = following()

    @property
    def says_what_for(self) -> bool:
        return self.topic is not None or self.purpose is not None

    def topic_of(self, context: StepContext) -> str:
        """What its message is about; "" if nothing says so."""
        return self.topic or (self.purpose is None and context.topic) or ""

    def asked(self, context: StepContext, sent: Sent) -> Asked | None:
        """What the contact policy says to it; None where there is nothing to ask."""
        contact = context.contact
        if contact is None or sent.channel == OTHER:
            return None
        zone = contact.policy.clock.zone_for(context.customer, context.facts())
        return contact.ask(sent, zone=zone, now=context.now)

    def sent(self, context: StepContext, channel: str, address: str = "", *, resumed: bool) -> Sent:
        """What it is about to send."""
        since = context.contact.waiting_since if context.contact and resumed else None
        return Sent(
            channel=channel,
            address=address,
            topic=self.topic,
            transactional=self.purpose == TRANSACTIONAL,
            window=self.window,
            since=since,
        )

    def held_back(self, asked: Asked, missing: tuple[str, ...], *, resumed: bool) -> StepResult:
        """It waits until everything is asked again, or is skipped, and the journey goes on."""
        if asked.verdict == "wait" and asked.until is not None:
            record = step_record(self, "waiting", asked.words, resumed=resumed, missing=missing, asked=asked)
            return StepResult(step_record=record, then=Wait(step_id=self.id, due_at=asked.until))
        record = step_record(self, "skipped", asked.words, resumed=resumed, missing=missing, asked=asked)
        return StepResult(step_record=record, then=GoTo(step_id=self.next))
