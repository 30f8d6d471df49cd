"""What the steps of courses read beside the customer: one statement for each kind, and none where no step reads it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from journeys.models import Variable
from journeys.steps.course import Course
from journeys.steps.surroundings import NOTHING, Surroundings


def surroundings_of(courses: Iterable[tuple[str, Course]]) -> Mapping[str, Surroundings]:
    """For courses with their workspaces: what is there, by workspace. Those that need nothing have no entry."""
    reading = {workspace_id for workspace_id, course in courses if course.reads_variables}
    if not reading:
        return {}
    variables: dict[str, dict[str, Any]] = defaultdict(dict)
    rows = Variable.objects.filter(workspace__in=reading).values_list("workspace_id", "name", "value")
    for workspace_id, name, value in rows:
        variables[workspace_id][name] = value
    return {workspace_id: Surroundings(variables=variables[workspace_id]) for workspace_id in reading}


def surroundings_for(workspace_id: str, course: Course) -> Surroundings:
    """What one course needs."""
    return surroundings_of([(workspace_id, course)]).get(workspace_id, NOTHING)
