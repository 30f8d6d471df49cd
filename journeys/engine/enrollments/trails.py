"""What lines of the log name of work that fails: enrollment, trigger, and the request id and traceparent of its call.

What is in hand where work is done is named from there. This looks up the rest, once something has failed.
"""

from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from typing import Any

from django.db import DatabaseError, InterfaceError

from engage.database.sql import Statement

_MOST = 50  # named in one line

# The trigger of an enrollment, each row looked up by its key (docs/sql.md).
CALLED = """
    SELECT trigger.id AS trigger_id, trigger.request_id, trigger.traceparent
    FROM (SELECT * FROM journeys_enrollment known WHERE known.id = {enrollment_id} LIMIT 1) AS entered
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = entered.job_id LIMIT 1) AS job
    CROSS JOIN LATERAL (SELECT * FROM journeys_trigger known WHERE known.id = job.trigger_id LIMIT 1) AS trigger
"""
_OF_ENROLLMENTS = Statement(
    """
SELECT asked.id AS enrollment_id, called.* FROM unnest({ids}::text[]) AS asked (id)
CROSS JOIN LATERAL ({called}) AS called
""",
    called=CALLED.replace("{enrollment_id}", "asked.id"),
)
_OF_TRIGGERS = Statement("""
SELECT id AS trigger_id, request_id, traceparent FROM journeys_trigger WHERE id = ANY({ids}::text[])
""")


def of_enrollments(ids: Collection[str]) -> dict[str, Any]:
    """What a line names of these enrollments: of one its fields, of many a list, `of`, of the first fifty."""
    return _names(_OF_ENROLLMENTS, "enrollment_id", ids)


def of_triggers(ids: Collection[str]) -> dict[str, Any]:
    """The same of these triggers."""
    return _names(_OF_TRIGGERS, "trigger_id", ids)


def _names(statement: Statement, key: str, ids: Collection[str]) -> dict[str, Any]:
    """Never raises: while the database is away, the ids alone are named."""
    first = list(islice(dict.fromkeys(ids), _MOST))
    found: list[dict[str, Any]] = []
    with suppress(DatabaseError, InterfaceError):
        found = statement.records(ids=first)
    names = [{name: value for name, value in one.items() if value is not None} for one in found]
    names += [{key: one} for one in first if one not in {known[key] for known in found}]
    return names[0] if len(names) == 1 else {"of": names}
