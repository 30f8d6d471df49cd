"""Drawings of journeys: graphs with words and numbers, as static/journeys/map/drawing.js draws them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django import forms
from django.forms.widgets import Script

from engage.admin.parts.columns import shown
from engage.errors import Refusal
from engage.resources.resource import DefinitionWarning
from journeys.engine.counts.shares import in_words, percent
from journeys.engine.counts.stats import JourneyStats
from journeys.models import JourneyRevision
from journeys.steps.graph import Edge, Graph, Node, graph_of
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED

# What is told of a step, and under which name the styles know it.
_ENDS = {"completed", "exited"}  # drawn only if a way leads there, or somebody came there all the same
TOLD = (
    ("waiting", "waiting"),
    ("done", "went on"),
    ("failed", "failed"),
    ("skipped", "skipped"),
    ("interrupted", "left"),
)
TOLD_IN_APP = ("shown", "acted", "closed", "expired")  # of what an `in_app` step has delivered
_ILL = {"failed", "skipped", "interrupted"}
Drawing = dict[str, Any]
_MODULE: Any = Script("journeys/map/page.js", type="module")  # which the stubs do not know
MAP_MEDIA = forms.Media(css={"all": ["journeys/map/map.css"]}, js=[_MODULE])


def graph_of_revision(revision: JourneyRevision) -> Graph | None:
    """None if its steps are none that this version can read."""
    with suppress(Refusal):
        return graph_of(revision.steps, revision.exit_on)
    return None


def plain(graph: Graph, warnings: Sequence[DefinitionWarning]) -> Drawing:
    """The steps alone, with the warnings about them."""
    return _warned(_drawing(graph, notes=lambda node: [], count=lambda edge: None), warnings)


def counted(
    graph: Graph,
    stats: JourneyStats,
    warnings: Sequence[DefinitionWarning],
    *,
    address: Callable[[str], str] | None,
) -> Drawing:
    """The steps with what was counted; each leads to the address of those who stand there (None: nowhere).

    Where several ways lead from a step, each tells its share; those of a branch or a split also how many of those who
    went there reached the goals. Who left a step by none of its ways is told beside it.
    """
    drawing = _drawing(graph, notes=_notes_from(stats), count=lambda edge: stats.edges.get(edge, 0))
    _add_shares(drawing, graph, stats)
    known = {(edge.source, edge.target) for edge in graph.edges}
    for node in drawing["nodes"]:
        if address and node["id"][0] != "@":
            node["href"] = address(node["id"])
        gone = (node["id"], EXITED)
        if gone not in known and (number := stats.edges.get(gone, 0)):
            node["leaving"] = {"count": number, "told": [*graph.exits, "calls and staff"]}
    return _warned(drawing, warnings)


def _notes_from(stats: JourneyStats) -> Callable[[Node], list[dict[str, str]]]:
    totals = {ENTRY: sum(number for (source, _), number in stats.edges.items() if source == ENTRY)}
    totals |= {COMPLETED: stats.completed, EXITED: stats.exited}

    def notes(node: Node) -> list[dict[str, str]]:
        if node.id in totals:
            return [{"text": f"{totals[node.id]:,}", "kind": ""}] if totals[node.id] else []
        step = stats.steps.get(node.id)
        if step is None:
            return []
        numbers = [(getattr(step, name), word, name) for name, word in TOLD]
        numbers += [((step.in_app or {}).get(state, 0), state, "") for state in TOLD_IN_APP]
        return [{"text": f"{number:,} {word}", "kind": kind} for number, word, kind in numbers if number]

    return notes


def _add_shares(drawing: Drawing, graph: Graph, stats: JourneyStats) -> None:
    left, ways = Counter[str](), Counter(edge.source for edge in graph.edges)
    for (source, _), number in stats.edges.items():
        left[source] += number
    for edge in drawing["edges"]:
        source, number = edge["source"], edge["count"]
        edge["share"] = percent(number / left[source]) if ways[source] > 1 and number else ""
        edge["told"] = [
            f"{goal.key} {share}"
            for goal in stats.goals
            for way in goal.by_path
            if (way.source, way.target) == (source, edge["target"]) and (share := in_words(way.count, number))
        ]


def _warned(drawing: Drawing, warnings: Sequence[DefinitionWarning]) -> Drawing:
    """The drawing with a note at each step that a warning is about, and the warning itself in its words."""
    said: dict[str | None, list[str]] = {}
    for warning in warnings:
        said.setdefault(warning.step_id, []).append(warning.message)
    for node in drawing["nodes"]:
        if node["id"] in said:
            node["notes"].append({"text": "⚠ warning", "kind": "warning"})
            node["warnings"] = said[node["id"]]
    return drawing


@dataclass(frozen=True, kw_only=True)
class Way:
    """A customer's way: the steps in order, by their ids, where it stands now (None: it has ended), and what to note.

    `end` is the node where it ended; `notes` are by the ids of nodes. Not `from_start`: earlier steps are not known.
    """

    steps: tuple[str, ...]
    from_start: bool = True
    here: str | None = None
    end: str | None = None
    notes: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[str, ...]:
        ahead = (self.here,) if self.here and self.steps[-1:] != (self.here,) else ()
        entry = (ENTRY,) if self.from_start else ()
        return (*entry, *self.steps, *ahead, *((self.end,) if self.end else ()))


def noted(state: str, at: datetime) -> str:
    """When a step was taken, and how it ended unless it went on as it should."""
    return f"{state} {shown(at)}" if state in _ILL else shown(at)


def lit(graph: Graph, way: Way) -> Drawing:
    """The steps with the way that one customer took; a way that is no edge (an exit at any step) is drawn as well."""
    taken = set(zip(way.nodes, way.nodes[1:], strict=False))
    known = {(edge.source, edge.target) for edge in graph.edges}
    nodes = {node.id for node in graph.nodes}
    more = [
        Edge(source=source, target=target, label="left" if target == EXITED else "")
        for source, target in sorted(taken - known)
        if {source, target} <= nodes
    ]
    whole = Graph(nodes=graph.nodes, edges=(*graph.edges, *more), exits=())

    def notes(node: Node) -> list[dict[str, str]]:
        here = node.id == way.here
        return [{"text": text, "kind": "here" if here else ""} for text in way.notes.get(node.id, ())]

    drawing = _drawing(whole, notes=notes, count=lambda edge: None)
    for node in drawing["nodes"]:
        node["mark"] = _mark(node["id"], way)
    for edge in drawing["edges"]:
        edge["lit"] = (edge["source"], edge["target"]) in taken
    return drawing


def _mark(node_id: str, way: Way) -> str:
    if node_id == way.here:
        return "here"
    if node_id == way.end:
        return "ended"
    return "taken" if node_id in way.nodes else "unvisited"


def _drawing(
    graph: Graph, *, notes: Callable[[Node], list[dict[str, str]]], count: Callable[[tuple[str, str]], int | None]
) -> Drawing:
    ends = {edge.target for edge in graph.edges}
    leaving = {"count": None, "told": list(graph.exits)} if graph.exits else None
    return {
        "nodes": [
            {
                "id": node.id,
                "type": node.type,
                "title": "" if node.id[0] == "@" else node.id,
                "label": node.label,
                "notes": said,
                "leaving": None if node.id[0] == "@" or node.type == "exit" else leaving,
            }
            for node in graph.nodes
            if (said := notes(node)) or node.type not in _ENDS or node.id in ends
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "label": edge.label,
                "count": count((edge.source, edge.target)),
            }
            for edge in graph.edges
        ],
    }
