"""What the steps of courses read beside the customer: one statement for each kind, and none where no step reads it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from engage.errors import Refusal
from journeys.engine.connections.links import links_of
from journeys.engine.connections.messages import MESSAGES, Named
from journeys.engine.connections.providers import provider_of
from journeys.models import Connection, Variable
from journeys.steps.course import Course
from journeys.steps.provider import Provider
from journeys.steps.surroundings import NOTHING, Surroundings


def surroundings_of(courses: Iterable[tuple[str, Course]]) -> Mapping[str, Surroundings]:
    """For courses with their workspaces: what is there, by workspace. Those that need nothing have no entry."""
    needing = [one for one in courses if _needs_any(one[1])]
    if not needing:
        return {}
    providers = _providers({(workspace_id, key) for workspace_id, course in needing for key in course.connections})
    reading = {workspace_id for workspace_id, course in needing if course.reads_variables} | {
        workspace_id for workspace_id, own in providers.items() if any(one.reads_variables for one in own.values())
    }
    variables = variables_of(reading) if reading else {}
    linking = {workspace_id for workspace_id, course in needing if course.reads_links} | {
        workspace_id for workspace_id, own in providers.items() if any(one.reads_links for one in own.values())
    }
    links = links_of(linking)
    messages = _messages({(workspace_id, key) for workspace_id, course in needing for key in course.messages})
    return {
        workspace_id: Surroundings(
            variables=variables.get(workspace_id, {}),
            providers=providers.get(workspace_id, {}),
            messages=messages.get(workspace_id, ()),
            links=links.get(workspace_id),
        )
        for workspace_id, _ in needing
    }


def _needs_any(course: Course) -> bool:
    return bool(course.reads_variables or course.reads_links or course.connections or course.messages)


def surroundings_for(workspace_id: str, course: Course) -> Surroundings:
    """What one course needs."""
    return surroundings_of([(workspace_id, course)]).get(workspace_id, NOTHING)


def variables_of(workspace_ids: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """The variables of these workspaces, by workspace and name."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    rows = Variable.objects.filter(workspace__in=workspace_ids).values_list("workspace_id", "name", "value")
    for workspace_id, name, value in rows:
        found[workspace_id][name] = value
    return found


def _providers(named: set[tuple[str, str]]) -> Mapping[str, Mapping[str, Provider]]:
    """Those that can be read, by workspace and key."""
    if not named:
        return {}
    workspace_ids, keys = {workspace_id for workspace_id, _ in named}, {key for _, key in named}
    found: dict[str, dict[str, Provider]] = defaultdict(dict)
    for connection in Connection.objects.filter(workspace__in=workspace_ids, key__in=keys):
        with suppress(Refusal):
            found[connection.workspace_id][connection.key] = provider_of(connection)
    return found


def _messages(named: set[Named]) -> Mapping[str, Collection[str]]:
    """Those that can be shown, by workspace."""
    found: dict[str, set[str]] = defaultdict(set)
    for workspace_id, key in MESSAGES.shown(named) if named else ():
        found[workspace_id].add(key)
    return found
