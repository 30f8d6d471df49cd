"""Which definitions name a variable: those by which somebody may enter, or walks."""

from collections.abc import Iterator
from contextlib import suppress

from django.db.models import Exists, F, OuterRef, Q, TextField
from django.db.models.functions import Cast

from engage.errors import Refusal
from journeys.models import Enrollment, JourneyRevision
from journeys.steps.definition import Step, parse_steps
from journeys.steps.templated import names_read


def journeys_reading(*, workspace_id: str, variable: str) -> list[str]:
    """The keys of the journeys whose steps read it, in order."""
    return sorted({key for key, steps in _in_use(workspace_id, naming="vars") if variable in names_read(steps, "vars")})


def _in_use(workspace_id: str, *, naming: str) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The steps of active journeys, and those in which somebody is, by the keys; of those whose text has the word."""
    inside = Enrollment.objects.filter(
        workspace=OuterRef("workspace"), journey=OuterRef("journey"), revision=OuterRef("pk"), state="active"
    )
    revisions = JourneyRevision.objects.annotate(text=Cast("steps", TextField())).filter(
        Q(journey__active=True, number=F("journey__revision")) | Exists(inside),
        workspace=workspace_id,
        text__contains=naming,
    )
    for key, steps in revisions.values_list("journey__key", "steps"):
        with suppress(Refusal):
            yield key, parse_steps(steps, stored=True)
