"""The feed of a workspace: what happens in it, told to whoever asks. Here it is written; journeys/engine/feed/ reads.

1. What a transaction does is told by the same transaction, in sets: a row for all events of one type and journey that
   one statement leads to. A statement that changes something tells it itself, with `telling` as a part of it; so it
   costs no further statement, and nothing but a look at the workspace where the feed is off. Functions of the database
   tell what ends jobs, and of whom an erasure takes out of journeys (journeys/migrations).
2. Rows have no place yet when they are written: their readers number them (journeys/engine/feed/numbering.py).
3. Of people it keeps ids. What else it says of them, such as why they have left, is joined when it is read, so an
   erasure has nothing to look for here. But who was erased is known by nothing else any more: `customer.erased` has
   their external id.
"""

from django.db import models

from engage.database.sql import Statement


class FeedType(models.TextChoices):
    JOB_DECIDED = "job.decided"
    TRIGGER_COMPLETED = "trigger.completed"
    ENROLLMENT_STARTED = "enrollment.started"
    ENROLLMENT_COMPLETED = "enrollment.completed"
    ENROLLMENT_EXITED = "enrollment.exited"
    WEBHOOK_FAILED = "webhook.failed"
    JOURNEY_HELD = "journey.held"
    MESSAGE_REFUSED = "message.refused"
    CUSTOMER_ERASED = "customer.erased"


# Whether a workspace's events are told, by a column of its id.
IS_TOLD = """
{workspace_id} = ANY(ARRAY(
    SELECT own.id FROM engage_workspace own
    WHERE own.id = ANY(ARRAY(SELECT DISTINCT workspace_id FROM {relation})) AND (own.feed OR own.subscribed)
))
"""


def telling(relation: str, *, of: str | None = None, **columns: str) -> str:
    """SQL that tells of each row of the relation, which has a `type`, a `workspace_id` and a `journey_id`.

    `columns` are those of FeedBatch, with what each event has in them. What began comes before what ended. `of` is the
    relation whose rows the first one is made of: where nothing is told, it is read once, and nothing is made of it.
    """
    values = ", ".join(f"array_agg({value})" for value in columns.values())
    told = IS_TOLD.format(workspace_id="workspace_id", relation=of or relation)
    return f"""
    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, {", ".join(columns)})
    SELECT workspace_id, type, journey_id, count(*), {values} FROM {relation} WHERE {told}
    GROUP BY workspace_id, journey_id, type ORDER BY type DESC
    """  # noqa: S608


def without_values(reason: str) -> str:
    """SQL for a reason without what follows once something failed: an error may quote what is known of a person."""
    pattern = r"^(Given up after [0-9]+ attempts|The [a-z ]+ ''[^'']*'' (failed|has no time to wait for)).*$"
    return rf"nullif(regexp_replace({reason}, '{pattern}', '\1.'), '')"


_TELL = Statement("""
INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, results, reasons)
SELECT id, {type}, {journey_id}::text, 1, ARRAY[{result}::text], ARRAY[{reason}::text]
FROM engage_workspace WHERE id = {workspace_id} AND (feed OR subscribed)
""")


def tell(
    kind: FeedType, *, workspace_id: str, journey_id: str | None = None, result: str = "", reason: str = ""
) -> None:
    """Tells of one event, within the caller's transaction, if the workspace's feed is on."""
    _TELL.execute(
        type=kind.value, workspace_id=workspace_id, journey_id=journey_id, result=result or None, reason=reason or None
    )
