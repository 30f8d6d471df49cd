"""What differs between two revisions of a journey."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from engage.admin.parts.differences import DiffLine, diff_of
from engage.http.query_strings import whole_number
from journeys.engine.operations.redaction import steps_without_credentials
from journeys.faces.content_rights import sees_queries
from journeys.journey.acts.keeping import may_roll_back
from journeys.models import Journey, JourneyRevision
from journeys.steps.secrets import masked_steps, steps_masked_beside

_OFFERED = 200  # revisions to compare with


def compared(revision: JourneyRevision, *, request: HttpRequest) -> dict[str, Any]:
    """What the revision's page shows of how it differs from the one before, or from the one that `from` names."""
    own = JourneyRevision.objects.filter(journey=revision.journey_id).exclude(pk=revision.pk)
    others = list(own.order_by("-number").values_list("number", flat=True)[:_OFFERED])
    before = max((number for number in others if number < revision.number), default=min(others, default=None))
    asked = request.GET.get("from", "")
    named = whole_number(asked)
    number = named if named in others else before
    other = None if number is None else own.filter(number=number).first()
    differences = [] if other is None else _differences(other, revision, with_queries=sees_queries(request))
    journeys: Any = admin.site.get_model_admin(Journey)
    return {
        "others": others,
        "compared_with": number,
        "differences": differences,
        "is_same": bool(differences) and not any(lines for _, lines in differences),
        "may_roll_back": bool(others) and may_roll_back(journeys, request),
    }


def _differences(
    before: JourneyRevision, after: JourneyRevision, *, with_queries: bool
) -> list[tuple[str, list[DiffLine]]]:
    old, new = masked_steps(before.steps), steps_masked_beside(after.steps, before.steps)
    if not with_queries:
        old, new = steps_without_credentials(old), steps_without_credentials(new)
    return [("Steps", diff_of(old, new)), ("Exits", diff_of(before.exit_on, after.exit_on))]
