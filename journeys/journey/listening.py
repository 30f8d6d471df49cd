"""Which journeys listen to certain events, or read which message an event came from: as they are designed now."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engage.database.sql import Statement

MOST_LISTENERS = 200
_MESSAGE = "event.messageId"
_NARROWING = {"eq", "in"}

# Journeys whose texts have one of the names somewhere, of which Python then finds out what they do with it.
_CANDIDATES = Statement(f"""
SELECT journey.id, journey.name, journey.active, journey.event_name, journey.event_where, journey.entry_conditions,
       journey.goals, revision.steps, revision.exit_on
FROM journeys_journey journey
JOIN journeys_journeyrevision revision ON revision.journey_id = journey.id AND revision.number = journey.revision
CROSS JOIN LATERAL (SELECT concat(
    to_jsonb(journey.event_name), journey.event_where, journey.entry_conditions, journey.goals, revision.steps,
    revision.exit_on
) AS text) AS written
WHERE journey.workspace_id = {{workspace_id}} AND (
    strpos(written.text, '{_MESSAGE}') > 0
    OR EXISTS (SELECT FROM unnest({{event_names}}::text[]) AS name WHERE strpos(written.text, to_jsonb(name)::text) > 0)
)
ORDER BY journey.id DESC LIMIT {MOST_LISTENERS}
""")  # noqa: S608


@dataclass(frozen=True, kw_only=True)
class ListeningJourney:
    """A journey, and what it does with the events, in words."""

    journey_id: str
    name: str
    active: bool
    how: Sequence[str]


def listeners_to(*, workspace_id: str, event_names: Collection[str], message_id: str) -> list[ListeningJourney]:
    """The newest MOST_LISTENERS journeys that these events of this message start, move or end, or that name it."""
    found = _CANDIDATES.records(workspace_id=workspace_id, event_names=sorted(event_names))
    listeners = [
        ListeningJourney(
            journey_id=row["id"], name=row["name"], active=row["active"], how=list(_how(row, event_names, message_id))
        )
        for row in found
    ]
    return [listener for listener in listeners if listener.how]


def _how(row: dict[str, Any], event_names: Collection[str], message_id: str) -> Iterator[str]:
    where, conditions, steps, exits, goals = (
        json.loads(row[name] or "null") for name in ("event_where", "entry_conditions", "steps", "exit_on", "goals")
    )
    if row["event_name"] in event_names and not _is_of_others(where, message_id):
        yield f"starts with {row['event_name']}"
    if _reads(conditions, message_id):
        yield "asks for the message as one enters"
    for step in steps or []:
        if step.get("event") in event_names and not _is_of_others(step.get("where"), message_id):
            yield f"waits for {step['event']} at step {step['id']}"
        elif "event" not in step and _reads(step, message_id):
            yield f"reads the message at step {step['id']}"
    for rule in exits or []:
        if rule.get("event") in event_names and not _is_of_others(rule.get("where"), message_id):
            yield f"ends with {rule['event']}"
    for goal in goals or []:
        if goal.get("event") in event_names and not _is_of_others(goal.get("where"), message_id):
            yield f"counts {goal['event']} as {goal['key']}"


def _is_of_others(where: Any, message_id: str) -> bool:
    """Whether the condition lets in events of other messages alone."""
    if not isinstance(where, dict):
        return False
    if where.get("field") == _MESSAGE and where.get("op") in _NARROWING and "value" in where:
        return not _names(where, message_id)
    return any(_is_of_others(part, message_id) for part in where.get("all", []))


def _reads(written: Any, message_id: str) -> bool:
    """Whether a test in it names the message, or a template shows it."""
    match written:
        case dict() if written.get("field") == _MESSAGE:
            return _names(written, message_id) or "value" not in written
        case dict():
            return any(_reads(part, message_id) for part in written.values())
        case list():
            return any(_reads(part, message_id) for part in written)
        case str():
            return _MESSAGE in written
    return False


def _names(test: dict[str, Any], message_id: str) -> bool:
    value = test.get("value")
    return message_id in value if isinstance(value, list) else value == message_id
