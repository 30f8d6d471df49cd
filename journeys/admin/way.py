"""An enrollment's way as a drawing: what it went through, where it is, and when it goes on."""

from collections import Counter

from unfold.utils import display_for_value

from engage.errors import Refusal
from journeys.admin.drawings import Drawing, Way, lit
from journeys.enrollments.history import EnrollmentHistory
from journeys.models import Enrollment, JourneyRevision, StepRun
from journeys.steps.graph import COMPLETED, EXITED, graph_of


def drawing_of(history: EnrollmentHistory) -> Drawing | None:
    """The steps of its revision with the way it took; None if they cannot be drawn."""
    revision = JourneyRevision.objects.get(id=history.state.enrollment.revision_id)
    try:
        graph = graph_of(revision.steps, revision.exit_on)
    except Refusal:
        return None
    return lit(graph, _way(history))


def _way(history: EnrollmentHistory) -> Way:
    enrollment, runs = history.state.enrollment, [step.run for step in history.steps]
    steps, from_start = tuple(run.step_id for run in runs), not runs or runs[0].ordinal == 0
    notes = _notes(runs)
    if enrollment.state == Enrollment.State.ACTIVE:
        notes[enrollment.step_id] = [_here(history)]
        return Way(steps=steps, from_start=from_start, here=enrollment.step_id, notes=notes)
    end = COMPLETED if enrollment.state == Enrollment.State.COMPLETED else EXITED
    return Way(steps=steps, from_start=from_start, end=end, notes={**notes, end: [_shown(enrollment.ended_at)]})


def _here(history: EnrollmentHistory) -> str:
    due = history.state.goes_on_at
    return f"here, due {_shown(due)}" if due else "here"


def _notes(runs: list[StepRun]) -> dict[str, list[str]]:
    """How it ended where it did not go well, when it was there last, and how often if it was there again."""
    times = Counter(run.step_id for run in runs)
    notes: dict[str, list[str]] = {}
    for run in runs:
        often = f"{times[run.step_id]} times, last " if times[run.step_id] > 1 else ""
        ill = f"{run.state} " if run.state in {StepRun.State.FAILED, StepRun.State.INTERRUPTED} else ""
        notes[run.step_id] = [f"{often}{ill}{_shown(run.began_at)}"]
    return notes


def _shown(value: object) -> str:
    """To the minute, as elsewhere on the page."""
    return str(display_for_value(value, "-"))
