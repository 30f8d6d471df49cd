"""The map on a journey's page: its steps as a drawing, with how many went which way, and the same as tables."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.urls import reverse

from engage.admin.parts.columns import may_view
from engage.errors import Refusal
from engage.json.instants import has_room
from engage.resources.resource import DefinitionWarning
from journeys.engine.counts.shares import in_words
from journeys.engine.counts.stats import JourneyStats, Span, journey_stats
from journeys.faces.drawings import TOLD, TOLD_IN_APP, Drawing, counted
from journeys.journey.warnings import warnings_of
from journeys.models import Enrollment, Journey, JourneyRevision
from journeys.steps.graph import Graph, graph_of
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED

MOST_REVISIONS = 200
_STEP_HEADERS = ["Step", "What it does", "Entered", "Waiting now", "Went on", "Failed", "Skipped", "Left"]
_IN_APP_HEADERS = [state.capitalize() for state in TOLD_IN_APP]
_WAY_HEADERS = ["From", "To", "When", "Customers"]
_GOAL_HEADERS = ["Goal", "Who", "Customers", "Reached it", "Share, and 95 % interval"]
_NAMES = {ENTRY: "Entered", COMPLETED: "Completed", EXITED: "Exited"}


class _Choice(forms.Form):
    """Which revision, and from the beginning of which day to the end of which, in UTC."""

    revision = forms.TypedChoiceField(coerce=int, required=False, empty_value=None)
    begin = forms.DateField(label="From (UTC)", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    end = forms.DateField(label="To (UTC)", required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, revisions: dict[int, JourneyRevision], current: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["revision"].choices = [  # type: ignore[attr-defined]
            ("", f"All, on the steps of {current}"),
            *((number, f"{number}, of {one.created_at:%Y-%m-%d %H:%M} UTC") for number, one in revisions.items()),
        ]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        begin, end = cleaned.get("begin"), cleaned.get("end")
        for name in ("begin", "end"):
            if (day := cleaned.get(name)) and not has_room(day):
                self.add_error(name, "Choose a day of these times.")
        if begin and end and begin > end:
            self.add_error("end", "This must not be before the first day.")
        return cleaned


@dataclass(frozen=True, kw_only=True)
class Map:
    """A journey's map, ready for the template; `why_not` says why there is no drawing of the revision."""

    choice: _Choice
    drawing: Drawing | None
    why_not: str
    exits: tuple[str, ...]
    warnings: list[DefinitionWarning]
    figures: list[tuple[str, str]]
    steps: dict[str, Any]
    ways: dict[str, Any]
    goals: dict[str, Any] | None


def map_of(journey: Journey, *, request: HttpRequest) -> Map:
    """The map with what the page's address chooses; with all revisions and since ever if it chooses wrongly."""
    newest = journey.revisions.defer("steps", "exit_on").order_by("-number")[:MOST_REVISIONS]
    revisions = {revision.number: revision for revision in newest}
    choice = _Choice(revisions, journey.revision, request.GET)
    chosen = choice.cleaned_data if choice.is_valid() else {}
    number = chosen.get("revision")
    stats = journey_stats(journey, _span(chosen, revisions[number].id if number else None))
    revision = journey.revisions.filter(number=number or journey.revision).first()
    graph, why_not = _graph(revision)
    warnings = warnings_of(journey, steps=revision.steps, exit_on=revision.exit_on) if revision else []
    sees_who = may_view(Enrollment, request=request)
    return Map(
        choice=choice,
        drawing=counted(graph, stats, warnings, address=_address_in(journey) if sees_who else None) if graph else None,
        why_not=why_not,
        exits=graph.exits if graph else (),
        warnings=warnings,
        figures=_figures(stats),
        steps=_steps(graph, stats),
        ways={"headers": _WAY_HEADERS, "rows": _way_rows(graph, stats)},
        goals={"headers": _GOAL_HEADERS, "rows": _goal_rows(stats)} if stats.goals else None,
    )


def _span(chosen: dict[str, Any], revision_id: int | None) -> Span:
    begin, end = chosen.get("begin"), chosen.get("end")
    return Span(
        begin=_midnight(begin) if begin else None,
        end=_midnight(end) + timedelta(days=1) if end else None,
        revision_id=revision_id,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _graph(revision: JourneyRevision | None) -> tuple[Graph | None, str]:
    if revision is None:
        return None, "The journey has no revision yet."
    try:
        return graph_of(revision.steps, revision.exit_on), ""
    except Refusal as refusal:
        return None, refusal.message


def _address_in(journey: Journey) -> Any:
    """Leads from a step's id to the list of who stands there."""
    url = reverse("admin:journeys_enrollment_changelist")
    return lambda step_id: f"{url}?{urlencode({'journey__id__exact': journey.pk, 'step_id': step_id})}"


def _figures(stats: JourneyStats) -> list[tuple[str, str]]:
    """What became of those who were triggered, in the order of an enrollment's life."""
    refused = sum(stats.entries.values()) - stats.entries.get("enrolled", 0)
    numbers = (
        ("wait for a decision", stats.queued),
        ("entered", stats.entries.get("enrolled", 0)),
        ("did not enter", refused),
        ("inside now", stats.active),
        ("completed", stats.completed),
        ("exited", stats.exited),
    )
    return [(what, f"{number:,}") for what, number in numbers]


def _steps(graph: Graph | None, stats: JourneyStats) -> dict[str, Any]:
    """Those of the drawing in its order, then those that only earlier revisions have; messages where there are any."""
    delivers = any(step.in_app for step in stats.steps.values())
    of_messages = TOLD_IN_APP if delivers else ()
    labels = {node.id: node.label for node in graph.nodes if node.id[0] != "@"} if graph else {}
    gone = sorted(stats.steps.keys() - labels.keys())
    rows: list[list[Any]] = []
    for step_id in (*labels, *gone):
        step = stats.steps.get(step_id)
        numbers = [step.entered, *(getattr(step, name) for name, _ in TOLD)] if step else [0] * (1 + len(TOLD))
        became = (step.in_app if step else None) or {}
        numbers += [became.get(state, 0) for state in of_messages]
        rows.append([step_id, labels.get(step_id, "of another revision"), *(f"{number:,}" for number in numbers)])
    return {"headers": [*_STEP_HEADERS, *(_IN_APP_HEADERS if delivers else ())], "rows": rows}


def _way_rows(graph: Graph | None, stats: JourneyStats) -> list[list[Any]]:
    labels = {(edge.source, edge.target): edge.label for edge in graph.edges} if graph else {}
    others = sorted(stats.edges.keys() - labels.keys())
    return [
        [_NAMES.get(way[0], way[0]), _NAMES.get(way[1], way[1]), labels.get(way, ""), f"{stats.edges.get(way, 0):,}"]
        for way in (*labels, *others)
    ]


def _goal_rows(stats: JourneyStats) -> list[list[str]]:
    """Of each goal: all who entered, those held out if any were, and those who went each way from a branch or split."""
    rows: list[tuple[str, str, int, int]] = []
    for goal in stats.goals:
        rows.append((goal.key, "all who entered", stats.entries.get("enrolled", 0), goal.count))
        if held_out := stats.entries.get("held_out", 0):
            rows.append((goal.key, "held out", held_out, goal.held_out))
        for way in goal.by_path:
            of = stats.edges.get((way.source, way.target), 0)
            rows.append((goal.key, f"{way.source} → {_NAMES.get(way.target, way.target)}", of, way.count))
    return [[key, who, f"{of:,}", f"{number:,}", in_words(number, of)] for key, who, of, number in rows]
