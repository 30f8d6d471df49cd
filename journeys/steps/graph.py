"""A revision's steps as a graph: what is drawn of a journey, in words. Counts are kept by the same nodes and edges.

Beside the steps there are three nodes, whose ids are no ids of steps: where customers enter, and the two ends. At most
one edge leads from a node to another; its label tells all the ways that it stands for. Counts may know more edges to
EXITED: exit conditions, calls and staff end an enrollment at whatever step it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from customers.conditions import in_words as condition_in_words
from engage.json.keywords import known
from journeys.steps.course import Course, parse_course
from journeys.steps.definition import STEP_TYPES
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED, way

LONGEST_LABEL = 200
NODE = f"A step's id, or `{ENTRY}`, `{COMPLETED}` or `{EXITED}`."


@dataclass(frozen=True, kw_only=True)
class Node:
    """A step, or where customers enter or end."""

    schema_name: ClassVar = "GraphNode"

    id: Annotated[str, NODE]
    type: Annotated[str, "The step's type.", known(["entry", *STEP_TYPES, "completed", "exited"])]
    label: Annotated[str, "What it does, in words; at most 200 characters."]


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A way from one node to another."""

    schema_name: ClassVar = "GraphEdge"

    source: Annotated[str, NODE]
    target: Annotated[str, NODE]
    label: Annotated[str, "When it is taken, in words; empty if always."]


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
    inner = tuple(Node(id=step.id, type=step.type, label=_cut(step.label)) for step in course.steps.values())
    ways = [(step.id, *one) for step in course.steps.values() for one in step.ways()]
    edges = _merged([(ENTRY, *way(course.first)), *ways])
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
        *(_cut(f"The event {pattern.in_full}") for pattern in rules.events),
        *(_cut(condition_in_words(condition)) for condition in rules.conditions),
    )


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
