"""The jobs of a customer who is merged into another one become that one's, and keep the ids under which they were queued.

So a job may get another customer, of the same workspace, who must be there. All else that it refers to stays.
"""

from django.db import migrations, models

MAY_MOVE = """
    CREATE FUNCTION journeys_hold_a_moved_job() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.queued_as IS NULL OR NOT EXISTS (
            SELECT FROM customers_customer WHERE id = NEW.customer_id AND workspace_id = NEW.workspace_id
        ) THEN
            RAISE foreign_key_violation USING
                MESSAGE = 'a job goes to another customer of its workspace, and keeps its id',
                TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
        END IF;
        RETURN NEW;
    END
    $$;
    CREATE OR REPLACE TRIGGER job_stays
    BEFORE UPDATE OF workspace_id, journey_id, trigger_id ON journeys_enrollmentjob
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.journey_id, OLD.trigger_id) IS DISTINCT FROM
        (NEW.workspace_id, NEW.journey_id, NEW.trigger_id)
    ) EXECUTE FUNCTION journeys_refuse_a_move();
    CREATE TRIGGER job_moves_with_its_id
    BEFORE UPDATE OF customer_id ON journeys_enrollmentjob
    FOR EACH ROW WHEN (OLD.customer_id IS DISTINCT FROM NEW.customer_id)
    EXECUTE FUNCTION journeys_hold_a_moved_job();
"""

STAYS = """
    DROP TRIGGER job_moves_with_its_id ON journeys_enrollmentjob;
    DROP FUNCTION journeys_hold_a_moved_job();
    CREATE OR REPLACE TRIGGER job_stays
    BEFORE UPDATE OF workspace_id, journey_id, customer_id, trigger_id ON journeys_enrollmentjob
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.journey_id, OLD.customer_id, OLD.trigger_id)
        IS DISTINCT FROM (NEW.workspace_id, NEW.journey_id, NEW.customer_id, NEW.trigger_id)
    ) EXECUTE FUNCTION journeys_refuse_a_move();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('customers', '0011_aliases'),
        ('journeys', '0028_failures'),
    ]

    operations = [
        migrations.AddField(
            model_name='enrollmentjob',
            name='queued_as',
            field=models.CharField(editable=False, help_text='Its id, if its customer was merged into this one since.', max_length=80, null=True),
        ),
        migrations.RunSQL(MAY_MOVE, STAYS),
    ]
