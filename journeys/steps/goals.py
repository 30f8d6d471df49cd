"""`goals` of a journey: the events by which it is told what the journey is for came about.

`[{"key": "bought", "event": "order_paid", "where": {…}, "within": "P7D"}]`: counted once for each enrollment, from its
beginning until `within` is over, whatever has become of it. `where` looks at the event alone: whoever is counted and
knows no more, because they were held out, is counted alike.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from customers.conditions import Condition, Root
from engage.errors import Refusal
from engage.json.described import Abouts, abouts_of, read_object, told, within, written
from engage.json.documents import Part, Reading
from journeys.steps.branch import Branch
from journeys.steps.conditions import read_condition
from journeys.steps.definition import Step
from journeys.steps.durations import read_timeout
from journeys.steps.events import EventPattern
from journeys.steps.split import Split
from journeys.steps.written import Written

MAX_GOALS = 10
LONGEST_KEY = 100
LONGEST = timedelta(days=90)
LONGEST_WAY = 100  # as it is counted: the ids of both ends, with a space between
HELD_OUT = "@held_out"  # how who is held out is counted; no step has such an id
FORKS = Branch | Split
_KEY = re.compile(r"[A-Za-z0-9_-]+")


class InvalidGoals(Refusal):
    """The goals are invalid; the message names the place: `goals[1].within must …`."""

    error = "Invalid goals"


def _read_key(part: Part) -> str:
    key = part.text(at_most=LONGEST_KEY)
    if not _KEY.fullmatch(key):
        part.refuse("may hold letters, digits, - and _ only.")
    return key


def _read_where(where: Written, part: Part) -> Condition:
    return read_condition(part, stored=where.stored, roots=[Root.EVENT])


def _read_span(part: Part) -> timedelta:
    span = read_timeout(part)
    if span > LONGEST:
        part.refuse(f"must be at most {LONGEST.days} days (P{LONGEST.days}D).")
    return span


@dataclass(frozen=True, kw_only=True)
class Goal(EventPattern):
    """Events of this pattern, within so long."""

    key: str = written("key", _read_key, about=told("Key", "words", "How it is called in what is counted.", start=""))
    where: Condition | None = within(
        "where", _read_where, default=None, or_null=True, about=told("Only if", "condition", roots=["event"])
    )
    span: timedelta = written(
        "within", _read_span, about=told("Within", "duration", f"At most {LONGEST.days} days.", start="P7D")
    )


def abouts_of_goal() -> Abouts:
    """What an author is asked for of one, in the order in which they think of it."""
    order = ["key", "event", "where", "within", "fromBridge"]
    return sorted(abouts_of(Goal), key=lambda about: order.index(about["name"]))


def parse_goals(value: object, *, stored: bool = False) -> tuple[Goal, ...]:
    """Parses the goals; null means none. `stored` ones need not keep to rules that came later.

    Raises InvalidGoals, whose message names the place.
    """
    if value is None:
        return ()
    with Reading() as reading:
        parts = Part(value, "goals", InvalidGoals).items(at_most=MAX_GOALS)
        goals = reading.each(parts, lambda part: read_object(Goal, part, Written(part=part, stored=stored)))
        _refuse_second_keys(parts, goals, reading)
    return tuple(goals)


def _refuse_second_keys(parts: Sequence[Part], goals: Sequence[Goal | None], reading: Reading) -> None:
    """None is a goal with a mistake."""
    places: dict[str, str] = {}
    for part, goal in zip(parts, goals, strict=True):
        if goal is not None and goal.key in places:
            reading.note(part.field("key"), f"is {goal.key!r}, which is the key of {places[goal.key]} already.")
        elif goal is not None:
            places[goal.key] = part.place


def require_countable(steps: Iterable[Step]) -> None:
    """Raises InvalidGoals if a way of a branch or a split is longer than what counts are kept by."""
    for step in steps:
        for one in step.ways() if isinstance(step, FORKS) else ():
            if len(step.id) + len(one.target) >= LONGEST_WAY:
                raise InvalidGoals(
                    f"goals are counted by path: the id {step.id!r} and that of where it leads, {one.target!r}, "
                    f"must have at most {LONGEST_WAY - 1} characters together."
                )
