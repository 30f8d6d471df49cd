"""Whether somebody waits for an event is looked up when their row is held, within the statement that locks it.

A statement sees what was committed when it began. So one that locks a customer and asks for their enrollments in one go
would miss a step that began to wait in between, and its event with it. What a volatile function asks is asked anew.
"""

from django.db import migrations

LOOK = """
    CREATE FUNCTION journeys_takes_notice(who varchar, named varchar) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        RETURN EXISTS (
            SELECT FROM journeys_enrollment enrollment
            JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
            WHERE enrollment.customer_id = who AND enrollment.state = 'active'
              AND (enrollment.awaits_event = named OR named = ANY(revision.exit_events))
        );
    END
    $$;
"""
FORGET = "DROP FUNCTION journeys_takes_notice(varchar, varchar);"


class Migration(migrations.Migration):

    dependencies = [
        ('journeys', '0010_names_in_the_admin'),
    ]

    operations = [migrations.RunSQL(LOOK, FORGET)]
