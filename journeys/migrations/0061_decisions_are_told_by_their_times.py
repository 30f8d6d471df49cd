"""A decision is told by when its job was queued, not by the whole id, and reasons are looked into only where one failed."""

from django.db import migrations

_FUNCTION = """
CREATE OR REPLACE FUNCTION journeys_note_progress() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        INSERT INTO journeys_triggerprogress (workspace_id, trigger_id, status, result, block, jobs)
        SELECT large.workspace_id, changed.trigger_id, changed.status, changed.result, changed.block, changed.jobs
        FROM (
            SELECT trigger_id, status, result, block, sum(one) AS jobs
            FROM (
                SELECT trigger_id, status, result, ordinal / 500 AS block, 1 AS one FROM after WHERE status <> 'queued'
                UNION ALL
                SELECT trigger_id, status, result, ordinal / 500 AS block, -1 FROM before WHERE status <> 'queued'
            ) AS counted
            GROUP BY block, trigger_id, status, result HAVING sum(one) <> 0
        ) AS changed
        CROSS JOIN LATERAL (
            SELECT workspace_id FROM journeys_trigger sent
            WHERE sent.id = changed.trigger_id AND sent.keeps_progress LIMIT 1
        ) AS large;
{tell}
        RETURN NULL;
    END
    $$;
"""
# A job that failed may quote its error: of that its reason keeps no more than that it was given up.
_TELL = r"""
        INSERT INTO engage_feedbatch
            (workspace_id, type, journey_id, size, customer_ids, trigger_ids, {ids}, results, reasons)
        SELECT workspace_id, 'job.decided', journey_id, count(*), array_agg(customer_id), array_agg(trigger_id),
               {of_ids},
               array_agg(result), array_agg({reason})
        FROM after
        WHERE status <> 'queued' AND id NOT IN (SELECT id FROM before WHERE status <> 'queued')
          AND workspace_id = ANY(ARRAY(
              SELECT own.id FROM engage_workspace own
              WHERE own.id = ANY(ARRAY(SELECT DISTINCT workspace_id FROM after)) AND (own.feed OR own.subscribed)
          ))
        GROUP BY workspace_id, journey_id;"""
_WITHOUT_ERROR = r"regexp_replace(reason, '^(Given up after [0-9]+ attempts).*$', '\1.')"
_AFTERWARDS = {
    "{ids}": "queued_ms, job_ids",
    "{of_ids}": "array_agg(queued_ms), CASE WHEN bool_or(queued_as IS NOT NULL) THEN array_agg(queued_as) END",
    "{reason}": f"CASE WHEN starts_with(reason, 'Given up') THEN {_WITHOUT_ERROR} ELSE nullif(reason, '') END",
}
_BEFORE = {
    "{ids}": "job_ids",
    "{of_ids}": "array_agg(coalesce(queued_as, 'enroll-' || journey_id || '-' || customer_id || '-' || queued_ms))",
    "{reason}": f"nullif({_WITHOUT_ERROR}, '')",
}


def _function(parts: dict[str, str]) -> str:
    tell = _TELL
    for name, sql in parts.items():
        tell = tell.replace(name, sql)
    return _FUNCTION.replace("{tell}", tell.lstrip("\n"))


class Migration(migrations.Migration):
    dependencies = [("engage", "0019_what_the_feed_keeps"), ("journeys", "0060_what_comes_due")]

    operations = [migrations.RunSQL(_function(_AFTERWARDS), _function(_BEFORE))]
