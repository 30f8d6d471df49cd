"""Who is erased between two steps has left from the last one that they began, and not from the one ahead.

Their history goes along with them, after the statement that deletes them: so each of these few is counted before.
"""

from django.db import migrations

_WAYS = """
        INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
        SELECT erased.workspace_id, erased.journey_id, erased.revision_id, date_trunc('hour', now(), 'UTC'),
               way.kind, way.name, way.outcome, count(*)
        FROM erased
        CROSS JOIN LATERAL (
            VALUES ('edge', CASE WHEN erased.steps_begun = 0 THEN '@entry' ELSE erased.step_id END, '@exited'),
                   ('end', erased.step_id, 'interrupted')
        ) AS way(kind, name, outcome)
        WHERE erased.state = 'active' AND ({counted})
          AND EXISTS (SELECT FROM journeys_journey journey WHERE journey.id = erased.journey_id)
        GROUP BY erased.workspace_id, erased.journey_id, erased.revision_id, way.kind, way.name, way.outcome;
        RETURN NULL;
"""
_FUNCTION = """
    CREATE OR REPLACE FUNCTION journeys_count_erased() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN {ways} END
    $$;
"""
COUNT = (
    _FUNCTION.format(
        ways=_WAYS.format(
            counted="erased.step_began_at IS NOT NULL OR way.kind = 'edge' AND erased.steps_begun = 0"
        )
    )
    + """
    CREATE FUNCTION journeys_count_erased_between_steps() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
        SELECT OLD.workspace_id, OLD.journey_id, OLD.revision_id, date_trunc('hour', now(), 'UTC'),
               'edge', last.step_id, '@exited', 1
        FROM journeys_steprun last
        WHERE last.enrollment_id = OLD.id AND last.ordinal = OLD.steps_begun - 1
          AND EXISTS (SELECT FROM journeys_journey journey WHERE journey.id = OLD.journey_id);
        RETURN OLD;
    END
    $$;

    CREATE TRIGGER erased_between_steps_are_counted
    BEFORE DELETE ON journeys_enrollment
    FOR EACH ROW WHEN (OLD.state = 'active' AND OLD.steps_begun > 0 AND OLD.step_began_at IS NULL)
    EXECUTE FUNCTION journeys_count_erased_between_steps();
"""
)
COUNT_AS_BEFORE = """
    DROP TRIGGER erased_between_steps_are_counted ON journeys_enrollment;
    DROP FUNCTION journeys_count_erased_between_steps();
""" + _FUNCTION.format(ways=_WAYS.format(counted="way.kind = 'edge' OR erased.step_began_at IS NOT NULL"))


class Migration(migrations.Migration):
    dependencies = [("journeys", "0039_merged_are_there")]

    operations = [migrations.RunSQL(COUNT, COUNT_AS_BEFORE)]
