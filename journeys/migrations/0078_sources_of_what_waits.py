"""A webhook of the version before, which knows no sources, is given that of its step: when it is written, and those that
waited already when anything is written of them, as by a claim.
"""

from django.db import migrations

GIVE = """
CREATE OR REPLACE FUNCTION journeys_delivery_has_a_source() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.source := coalesce((
        SELECT 'step:' || enrollment.journey_id || ':' || run.step_id
        FROM journeys_steprun run, journeys_enrollment enrollment
        WHERE run.enrollment_id = NEW.enrollment_id AND run.ordinal = NEW.ordinal AND enrollment.id = NEW.enrollment_id
    ), '');
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER journeys_delivery_has_a_source BEFORE INSERT OR UPDATE ON journeys_webhookdelivery
FOR EACH ROW WHEN (NEW.source = '') EXECUTE FUNCTION journeys_delivery_has_a_source();
"""


class Migration(migrations.Migration):
    dependencies = [("journeys", "0077_own_ids_of_pushes")]

    operations = [
        migrations.RunSQL(
            GIVE,
            "DROP TRIGGER IF EXISTS journeys_delivery_has_a_source ON journeys_webhookdelivery; "
            "DROP FUNCTION IF EXISTS journeys_delivery_has_a_source()",
        ),
    ]
