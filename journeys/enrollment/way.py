"""An enrollment's way as a drawing: what it went through, where it is, and when it goes on."""

from collections import Counter

from engage.admin.parts.columns import shown
from journeys.engine.enrollments.history import EnrollmentHistory
from journeys.faces.drawings import Drawing, Way, graph_of_revision, lit, noted
from journeys.models import Enrollment, JourneyRevision, StepRun
from journeys.steps.kinds import COMPLETED, EXITED


def drawing_of(history: EnrollmentHistory) -> Drawing | None:
    """The steps of its revision with the way it took; None if they cannot be drawn."""
    revision = JourneyRevision.objects.get(id=history.state.enrollment.revision_id)
    graph = graph_of_revision(revision)
    return lit(graph, _way(history)) if graph else None


def _way(history: EnrollmentHistory) -> Way:
    enrollment, runs = history.state.enrollment, [step.run for step in history.steps]
    steps, from_start = tuple(run.step_id for run in runs), not runs or runs[0].ordinal == 0
    notes = _notes(runs)
    if enrollment.state == Enrollment.State.ACTIVE:
        notes[enrollment.step_id] = [_here(history)]
        return Way(steps=steps, from_start=from_start, here=enrollment.step_id, notes=notes)
    end = COMPLETED if enrollment.state == Enrollment.State.COMPLETED else EXITED
    return Way(steps=steps, from_start=from_start, end=end, notes={**notes, end: [shown(enrollment.ended_at)]})


def _here(history: EnrollmentHistory) -> str:
    due = history.state.goes_on_at
    return f"here, due {shown(due)}" if due else "here"


def _notes(runs: list[StepRun]) -> dict[str, list[str]]:
    """How it ended where it did not go well, when it was there last, and how often if it was there again."""
    times = Counter(run.step_id for run in runs)
    notes: dict[str, list[str]] = {}
    for run in runs:
        often = f"{times[run.step_id]} times, last " if times[run.step_id] > 1 else ""
        notes[run.step_id] = [f"{often}{noted(run.state, run.began_at)}"]
    return notes
