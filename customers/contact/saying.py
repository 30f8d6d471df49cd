"""What is said of people's will by calls, files and staff: checked against the topics that there are, written as acts,
and read as it stands.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from django.db.models import Q

from customers.contact.consent import NOTHING_KNOWN, Act, State, consent_at
from customers.contact.ledger import About, NewAct, consents_of, record_acts
from customers.contact.periods import parse_period
from customers.models import ConsentAct, Topic
from engage.audit.acting import current_actor
from engage.database.known_values import known_value
from engage.database.parts import Part
from engage.errors import InvalidRequest
from engage.json.keywords import Choice

EACH_TOPIC = "*"
StateInWords = Annotated[str, Choice("ConsentState", tuple(State))]


@dataclass(frozen=True, kw_only=True)
class Saying:
    """What somebody wants of a topic (`*`: of each topic) by a channel. `at`: when it occurred, None if nobody knows;
    `until`: when an opt-out for a time ends; `place`: where it stands in what was sent.
    """

    topic: str
    channel: str
    state: State
    at: datetime | None
    until: datetime | None = None
    text: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    source: ConsentAct.Source = ConsentAct.Source.API
    source_id: str = ""
    place: str = ""


def topics_of(workspace_id: str) -> Mapping[str, Topic]:
    """The workspace's topics by their keys, in this order."""
    return {one.key: one for one in Topic.objects.filter(workspace_id=workspace_id).order_by("key")}


def check_sayings(sayings: Iterable[Saying], topics: Mapping[str, Topic]) -> None:
    """Raises InvalidRequest for the first that no topic takes."""
    for one in sayings:
        if one.topic != EACH_TOPIC and one.topic not in topics:
            raise InvalidRequest(f"{one.place}.topic is {one.topic[:50]!r}, which is no topic of this workspace.")
        if not list(_meant(one, topics)):
            raise InvalidRequest(f"{one.place}.channel is {one.channel[:50]!r}, which the topic does not have.")


def _meant(one: Saying, topics: Mapping[str, Topic]) -> Iterator[str]:
    """An act about all topics is one on each that has the channel: a topic that is made later was not meant."""
    keys = topics if one.topic == EACH_TOPIC else [one.topic]
    return (key for key in keys if key in topics and one.channel in topics[key].channels)


def say(*, workspace_id: str, sayings: Mapping[str, Sequence[Saying]], topics: Mapping[str, Topic]) -> None:
    """Records what is said of each customer (id), which was checked. Must run in a transaction."""
    actor = current_actor().in_words
    acts = [
        NewAct(
            about=About(customer_id, topic, one.channel),
            act=Act(one.state, one.at, one.until),
            source=one.source,
            source_id=one.source_id,
            actor=actor,
            text=one.text,
            evidence=one.evidence,
        )
        for customer_id, said in sayings.items()
        for one in said
        for topic in _meant(one, topics)
    ]
    record_acts(workspace_id=workspace_id, acts=acts)


@transaction.atomic
def put_consents(*, workspace_id: str, customer_id: str, sayings: Sequence[Saying]) -> None:
    """Records what is said of one customer. Raises InvalidRequest, with nothing recorded."""
    topics = topics_of(workspace_id)
    check_sayings(sayings, topics)
    say(workspace_id=workspace_id, sayings={customer_id: sayings}, topics=topics)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What holds by now of a person, for a topic by one of its channels."""

    topic: str
    channel: str
    state: StateInWords
    default: Annotated[Topic.Default, "What holds where the state is `unknown`."]
    since: Annotated[datetime | None, "When the act occurred that decides; null where nobody knows."]
    until: Annotated[datetime | None, "When an opt-out for a time ends."]


def standing_of(*, workspace_id: str, customer_id: str, now: datetime) -> Sequence[Standing]:
    """For each topic and channel."""
    known = consents_of(workspace_id=workspace_id, customer_ids=[customer_id])
    standing = []
    for key, topic in topics_of(workspace_id).items():
        valid_for = parse_period(topic.valid_for) if topic.valid_for else None
        for channel in topic.channels:
            held = known.get(About(customer_id, key, channel), NOTHING_KNOWN)
            now_held = consent_at(held, now, valid_for=valid_for)
            standing.append(
                Standing(
                    topic=key,
                    channel=channel,
                    state=now_held.state.value,
                    default=known_value(Topic.Default, topic.default) or Topic.Default.OPTED_OUT,
                    since=now_held.since,
                    until=now_held.until,
                )
            )
    return standing


@dataclass(frozen=True)
class PlaceOfAct:
    """After the act that was recorded then."""

    recorded_at: datetime
    act_id: str


def acts_part(*, workspace_id: str, customer_id: str, after: PlaceOfAct | None, limit: int) -> Part[ConsentAct]:
    """The person's ledger, what was recorded last first; `last` is a PlaceOfAct."""
    acts = ConsentAct.objects.filter(workspace_id=workspace_id, customer_id=customer_id)
    if after is not None:
        same_time = Q(recorded_at=after.recorded_at, id__lt=after.act_id)
        acts = acts.filter(Q(recorded_at__lt=after.recorded_at) | same_time)
    found = list(acts.order_by("-recorded_at", "-id")[: limit + 1])
    shown = found[:limit]
    return Part(rows=shown, last=PlaceOfAct(shown[-1].recorded_at, shown[-1].id) if len(found) > limit else None)
