"""Parses requests about enrollments into what the domain takes."""

from typing import Any

from django.http import QueryDict

from engage.database.object_ids import is_object_id
from engage.http.fields import BodySerializer, TextField
from engage.http.paging import InvalidCursor, read_cursor, read_limit
from journeys.enrollments.by_customer import Cursor
from journeys.steps.exit import LONGEST_REASON

STEPS, MOST_STEPS = 50, 100
TRIGGERS, MOST_TRIGGERS = 20, 100


class ExitBody(BodySerializer):
    """Why the enrollment should end."""

    reason = TextField(
        blank_is_absent=True,
        max_length=LONGEST_REASON,
        help_text="Why the enrollment is to end, as text. It is stored as the enrollment's exit reason.",
    )


def read_exit(body: Any) -> str:
    """The reason. Raises MissingParameter or InvalidRequest."""
    return str(ExitBody.read(body)["reason"])


def read_history_query(query: QueryDict) -> tuple[int, int]:
    """The ordinal to read after (-1: from the start), and the maximum number of steps. Raises InvalidRequest."""
    cursor = read_cursor(query, int)
    return cursor[0] if cursor else -1, read_limit(query, default=STEPS, at_most=MOST_STEPS)


def read_triggers_query(query: QueryDict) -> tuple[Cursor | None, int]:
    """The place to read after (None: from the start), and the maximum number of triggers. Raises InvalidRequest."""
    limit = read_limit(query, default=TRIGGERS, at_most=MOST_TRIGGERS)
    cursor = read_cursor(query, int, str)
    if cursor is None:
        return None, limit
    queued_ms, journey_id = cursor
    if not is_object_id(journey_id):
        raise InvalidCursor
    return Cursor(queued_ms=queued_ms, journey_id=journey_id), limit
