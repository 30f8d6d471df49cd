"""What somebody may choose of their workspace's topics, what holds at the moment, and what is recorded of a choice."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from customers.contact.caps import OWN
from customers.contact.consent import NOTHING_KNOWN, Act, Consent, State, consent_at
from customers.contact.ledger import About, NewAct, consents_of, record_acts
from customers.contact.periods import parse_period
from customers.contact.policy import CHANNELS
from customers.contact.reach import rules_of
from customers.models import Alias, ConsentAct, ContactRing, Customer, Topic
from customers.preferences.links import Link

PAUSE = timedelta(days=30)


class Choice(NamedTuple):
    """A topic by a channel; `offers:email` in forms."""

    topic: str
    channel: str

    def __str__(self) -> str:
        return f"{self.topic}:{self.channel}"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What holds of one person; `link` is of the message whose link they followed."""

    link: Link
    customer: Customer
    topics: Sequence[Topic]
    consents: Mapping[Choice, Consent]
    weekly: bool
    now: datetime

    def consent(self, choice: Choice) -> Consent:
        """By now: a pause may be over, and what was given for a time may have expired."""
        topic = next((one for one in self.topics if one.key == choice.topic), None)
        valid_for = parse_period(topic.valid_for) if topic and topic.valid_for else None
        return consent_at(self.consents.get(choice, NOTHING_KNOWN), self.now, valid_for=valid_for)

    def is_on(self, choice: Choice) -> bool:
        """Whether messages of the topic come by the channel."""
        state = self.consent(choice).state
        default = next((one.default for one in self.topics if one.key == choice.topic), None)
        return state is State.SUBSCRIBED or (state is State.UNKNOWN and default == Topic.Default.OPTED_IN)

    @property
    def choices(self) -> list[Choice]:
        return [Choice(topic.key, channel) for topic in self.topics for channel in topic.channels]

    @property
    def on(self) -> list[Choice]:
        return [one for one in self.choices if self.is_on(one)]

    @property
    def has_left_topic(self) -> bool:
        """Whether the message was about a topic of which nothing comes any more, by whatever channel."""
        about = [one for one in self.choices if one.topic == self.link.topic]
        return bool(about) and not any(map(self.is_on, about))

    def of_message(self) -> list[Choice]:
        """What its link leaves: its topic by its channel; by all of the topic's where it does not say, or all topics.

        A topic that is gone can still be left: it may come again.
        """
        link = self.link
        if not link.topic:
            return [one for one in self.choices if link.channel in ("", one.channel)]
        known = [one.channel for one in self.choices if one.topic == link.topic]
        return [Choice(link.topic, channel) for channel in ([link.channel] if link.channel else known or CHANNELS)]


def chosen_by(link: Link, *, lock: bool = False) -> Chosen | None:
    """What holds of whom the link is for, also after a merge; None if nothing is kept of them."""
    ids = {link.customer_id, *_merged_into(link)}
    customers = Customer.objects.filter(workspace_id=link.workspace_id, id__in=ids).order_by("id")
    customer = (customers.select_for_update(no_key=True) if lock else customers).select_related(None).first()
    if customer is None:
        return None
    consents = consents_of(workspace_id=link.workspace_id, customer_ids=[customer.id])
    return Chosen(
        link=link,
        customer=customer,
        topics=list(Topic.objects.filter(workspace_id=link.workspace_id).order_by("name")),
        consents={Choice(about.topic, about.channel): held for about, held in consents.items()},
        weekly=ContactRing.objects.filter(customer_id=customer.id, cap=OWN.key).exists(),
        now=timezone.now(),
    )


def _merged_into(link: Link) -> Iterable[str]:
    aliases = Alias.objects.filter(workspace_id=link.workspace_id, id=link.customer_id)
    return aliases.values_list("customer_id", flat=True)


class Leaving(Enum):
    """What may be left at once."""

    MESSAGE = "message"  # what the message was about
    ALL = "all"
    FOR_A_WHILE = "pause"  # all, for 30 days


@transaction.atomic
def leave(link: Link, what: Leaving) -> tuple[Chosen | None, list[Choice]]:
    """Leaves that, however often it is asked. What holds then, and what was on before: it can be undone."""
    before = chosen_by(link, lock=True)
    if before is None:
        return None, []
    about = before.of_message() if what is Leaving.MESSAGE else before.choices
    on = [one for one in about if before.is_on(one)]
    if what is Leaving.FOR_A_WHILE:
        _record(before, on, Act(State.UNSUBSCRIBED, before.now, before.now + PAUSE))
    else:
        source = ConsentAct.Source.LINK if what is Leaving.MESSAGE else ConsentAct.Source.PAGE
        left = [one for one in about if not _is_left(before.consent(one))]
        _record(before, left, Act(State.UNSUBSCRIBED, before.now), source=source)
    return chosen_by(link), on


@transaction.atomic
def confirm(link: Link) -> Chosen | None:
    """Subscribes them to what the message asked about, which they had requested; what holds then."""
    before = chosen_by(link, lock=True)
    if before is None:
        return None
    wanted = [one for one in before.of_message() if before.consent(one).state is not State.SUBSCRIBED]
    _record(before, wanted, Act(State.SUBSCRIBED, before.now), source=ConsentAct.Source.LINK)
    return chosen_by(link)


@transaction.atomic
def choose(
    link: Link, *, on: Collection[str], shown: Collection[str] = (), weekly: bool | None = None
) -> Chosen | None:
    """Has the choices in `on` on, and off the others of those that were `shown` ; what holds then.

    Acts are recorded about what differs from what held. `weekly` None leaves that as it is.
    """
    before = chosen_by(link, lock=True)
    if before is None:
        return None
    known = list(dict.fromkeys([*before.choices, *before.of_message()]))
    joined = [one for one in known if str(one) in on and not before.is_on(one)]
    left = [one for one in known if str(one) in shown and str(one) not in on and before.is_on(one)]
    _record(before, joined, Act(State.SUBSCRIBED, before.now))
    _record(before, left, Act(State.UNSUBSCRIBED, before.now))
    if weekly is not None and weekly != before.weekly:
        _choose_weekly(before.customer, wanted=weekly)
    return chosen_by(link)


def _is_left(held: Consent) -> bool:
    """For good: a pause is none."""
    return held.state is State.UNSUBSCRIBED and held.until is None


def _record(chosen: Chosen, choices: Iterable[Choice], act: Act, *, source: str = ConsentAct.Source.PAGE) -> None:
    """The ledger names the delivery that led here: its enrollment and step."""
    link, delivery = chosen.link, {}
    if chosen.link.enrollment_id:
        delivery = {"enrollmentId": link.enrollment_id, "stepId": link.step_id}
    record_acts(
        workspace_id=link.workspace_id,
        acts=[
            NewAct(
                about=About(chosen.customer.id, one.topic, one.channel),
                act=act,
                source=source,
                source_id="/".join(delivery.values())[:100],
                evidence=delivery,
            )
            for one in choices
        ],
    )


def _choose_weekly(customer: Customer, *, wanted: bool) -> None:
    if not wanted:
        ContactRing.objects.filter(customer=customer, cap=OWN.key).delete()
        return
    rules_of(customer.workspace_id)  # without them, nobody is asked for caps
    ContactRing.objects.create(workspace_id=customer.workspace_id, customer=customer, cap=OWN.key, times=[])
