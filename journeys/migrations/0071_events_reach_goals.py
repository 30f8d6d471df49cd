"""An event that may reach a goal is not recorded as one that leads to nothing.

The version before then takes the longer way for it, and counts nothing.
"""

from django.db import migrations

_FUNCTION = """
CREATE OR REPLACE FUNCTION journeys_takes_notice(who varchar, named varchar) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        RETURN EXISTS (
            SELECT FROM journeys_enrollment enrollment
            JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
            WHERE enrollment.customer_id = who AND enrollment.state = 'active'
              AND (enrollment.awaits_event = named OR named = ANY(revision.exit_events))
        ){goals};
    END
    $$;
"""
_GOALS = """ OR EXISTS (
            SELECT FROM journeys_goalwatch watch
            WHERE watch.customer_id = who AND watch.event_name = named AND watch.reached_at IS NULL
              AND watch.until > statement_timestamp()
        )"""


class Migration(migrations.Migration):
    dependencies = [("journeys", "0070_goal_watches")]

    operations = [migrations.RunSQL(_FUNCTION.replace("{goals}", _GOALS), _FUNCTION.replace("{goals}", ""))]
