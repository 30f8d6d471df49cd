"""A revision's steps as a graph: what is drawn of a journey, in words. Counts are kept by the same nodes and edges.

Beside the steps there are three nodes, whose ids are no ids of steps: where customers enter, and the two ends. At most
one edge leads from a node to another; its label tells all the ways that it stands for. Counts may know more edges to
EXITED: exit conditions, calls and staff end an enrollment at whatever step it is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

from customers.conditions import in_words as condition_in_words
from journeys.steps.branch import Branch
from journeys.steps.course import Course, parse_course
from journeys.steps.definition import Step
from journeys.steps.delay import Delay, FixedTime, TimeOfDay
from journeys.steps.events import EventPattern
from journeys.steps.exit import Exit
from journeys.steps.split import Split
from journeys.steps.track_event import TrackEvent
from journeys.steps.update_profile import UpdateProfile
from journeys.steps.wait_for_event import WaitForEvent
from journeys.steps.webhook import Webhook

ENTRY, COMPLETED, EXITED = "@entry", "@completed", "@exited"
LONGEST_LABEL = 200
_SHOWN_ATTRIBUTES = 3
# Up to the first question mark that is outside of templates.
_PATH = re.compile(r"(?:\{\{.*?\}\}|\{%.*?%\}|[^?])*", re.DOTALL)
_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, kw_only=True)
class Node:
    """A step, by its id and type; or where customers enter or end, whose type is `entry`, `completed` or `exited`."""

    id: str
    type: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A way from one node to another. The label says when it is taken; empty if always."""

    source: str
    target: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The nodes in the order of the steps, between the entry and the ends, and the edges in the order of their sources.

    `exits` says, in words, what ends an enrollment whichever step it is at.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    exits: tuple[str, ...]


def graph_of(steps: object, exit_on: object) -> Graph:
    """The graph of a revision's stored steps and exit rules. Raises InvalidSteps or InvalidExitRules."""
    course = parse_course(steps, exit_on)
    written: Mapping[str, Mapping[str, Any]] = {step["id"]: step for step in steps} if isinstance(steps, list) else {}
    inner = tuple(
        Node(id=step.id, type=step.type, label=_cut(_label(step, written[step.id]))) for step in course.steps.values()
    )
    edges = _merged([(ENTRY, course.first or COMPLETED, ""), *_ways(course)])
    return Graph(
        nodes=(
            Node(id=ENTRY, type="entry", label="Entered"),
            *inner,
            Node(id=COMPLETED, type="completed", label="Completed"),
            Node(id=EXITED, type="exited", label="Exited"),
        ),
        edges=edges,
        exits=_exits(course),
    )


def _exits(course: Course) -> tuple[str, ...]:
    rules = course.exit_rules
    return (
        *(_cut(f"The event {_pattern(pattern)}") for pattern in rules.events),
        *(_cut(condition_in_words(condition)) for condition in rules.conditions),
    )


def _label(step: Step, written: Mapping[str, Any]) -> str:
    match step:
        case Delay():
            return _delay(step, written)
        case WaitForEvent():
            return f"Wait for {_pattern(step.pattern)}, at most {duration_in_words(step.timeout)}"
        case Webhook():
            return f"{step.method} {_address(step, written)}"
        case Branch():
            return "Branch"
        case Split():
            return f"Split {' : '.join(f'{path.weight:g}' for path in step.paths)}"
        case UpdateProfile():
            return f"Write {_listed(list(step.attributes.value))}"
        case TrackEvent():
            return f"Record the event {step.event_name!r}"
        case Exit():
            return f"Exit: {step.reason}"


def _delay(step: Delay, written: Mapping[str, Any]) -> str:
    match step.length:
        case FixedTime(duration=duration):
            return f"Wait {duration_in_words(duration)}"
        case TimeOfDay() as until:
            zone = "UTC" if until.zone is UTC else written["timezone"]
            return f"Wait until {until.time.isoformat('minutes')} ({zone})"
    return f"Wait until {written['at'].strip()}"


def duration_in_words(duration: timedelta) -> str:
    """The duration in its units: "1 day", "2 hours 30 minutes"."""
    left, parts = duration.total_seconds(), []
    for unit, seconds in _UNITS:
        number = left if unit == "second" else left // seconds
        if number:
            parts.append(f"{number:g} {unit}{'' if number == 1 else 's'}")
        left -= number * seconds
    return " ".join(parts) or "0 seconds"


def _address(step: Webhook, written: Mapping[str, Any]) -> str:
    """Host and path, without the query: it may hold credentials."""
    path = _PATH.match(written["url"].partition("://")[2].removeprefix(step.url.authority))
    return f"{step.url.authority}{path[0].rstrip('/') if path else ''}"


def _pattern(pattern: EventPattern) -> str:
    where = "" if pattern.where is None else f" where {condition_in_words(pattern.where)}"
    return f"{pattern.in_words}{where}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_ATTRIBUTES
    return f"{', '.join(names[:_SHOWN_ATTRIBUTES])}{f' and {more} more' if more > 0 else ''}"


def _ways(course: Course) -> list[tuple[str, str, str]]:
    """Every way from a step: source, target and label."""
    return [(step.id, target, label) for step in course.steps.values() for target, label in _ways_from(step)]


def _ways_from(step: Step) -> list[tuple[str, str]]:
    match step:
        case Branch():
            cases = [(_or_end(case.next), condition_in_words(case.condition)) for case in step.cases]
            return [*cases, (_or_end(step.next), "otherwise")]
        case Split():
            total = sum(path.weight for path in step.paths)
            return [(_or_end(path.next), f"{100 * path.weight / total:.3g} %") for path in step.paths]
        case WaitForEvent():
            return [(_or_end(step.on_event), "the event came"), (_or_end(step.on_timeout), "it did not come in time")]
        case Webhook(on_failure="exit"):
            return [(_or_end(step.next), "delivered"), (EXITED, "failed")]
        case Exit():
            return [(EXITED, "")]
    return [(_or_end(step.next), "")]


def _or_end(step_id: str | None) -> str:
    return COMPLETED if step_id is None else step_id


def _merged(ways: Sequence[tuple[str, str, str]]) -> tuple[Edge, ...]:
    labels: dict[tuple[str, str], list[str]] = {}
    for source, target, label in ways:
        labels.setdefault((source, target), []).append(label)
    return tuple(
        Edge(source=source, target=target, label=_cut("; ".join(filter(None, several))))
        for (source, target), several in labels.items()
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def mermaid_of(graph: Graph) -> str:
    """The graph as a Mermaid flowchart, for documents and pull requests."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for node in graph.nodes:
        opening, closing = ("[", "]") if node.id[0] != "@" else ("([", "])")
        shown = node.label if node.id[0] == "@" else f"{node.id}: {node.label}"
        lines.append(f"  {names[node.id]}{opening}{_quoted(shown)}{closing}")
    for edge in graph.edges:
        label = f"|{_quoted(edge.label)}|" if edge.label else ""
        lines.append(f"  {names[edge.source]} -->{label} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Mermaid knows no backslashes: what it might read as its own is written as an entity."""
    plain = " ".join(text.split())
    return '"' + "".join(f"#{ord(one)};" if one in '"#<>&`\\|{}[]()' else one for one in plain) + '"'
