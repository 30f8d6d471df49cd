"""Beside the reason of a decision, and beside a branch, stand the values that decided.

They are the customer's. Those beside a branch go with the enrollment; a job outlives its customer, and is left without.
"""

from django.db import migrations, models

FORGET = """
    CREATE OR REPLACE FUNCTION journeys_forget_erased_customers() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off AS $$
    DECLARE
        named_in_vain varchar[];
    BEGIN
        {details}
        WITH theirs AS (
            DELETE FROM journeys_unknownexternalid WHERE id = ANY(ARRAY(
                SELECT sent.id FROM erased CROSS JOIN LATERAL (
                    SELECT id FROM journeys_unknownexternalid unknown
                    WHERE unknown.external_id = erased.external_id AND unknown.workspace_id = erased.workspace_id
                    OFFSET 0
                ) AS sent
            ))
            RETURNING trigger_id
        )
        SELECT array_agg(trigger_id) INTO named_in_vain FROM theirs;
        PERFORM journeys_forget_payloads(ARRAY(
            SELECT job.trigger_id FROM erased JOIN journeys_enrollmentjob AS job ON job.customer_id = erased.id
            UNION SELECT unnest(named_in_vain)
        ));
        RETURN NULL;
    END
    $$;
"""
DETAILS = """
        UPDATE journeys_enrollmentjob SET details = NULL WHERE id = ANY(ARRAY(
            SELECT decided.id FROM erased CROSS JOIN LATERAL (
                SELECT id FROM journeys_enrollmentjob job
                WHERE job.customer_id = erased.id AND job.details IS NOT NULL OFFSET 0
            ) AS decided
        ));
"""


class Migration(migrations.Migration):

    dependencies = [
        ('journeys', '0017_whom_calls_left_out'),
    ]

    operations = [
        migrations.AddField(
            model_name='enrollmentjob',
            name='details',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='steprun',
            name='because',
            field=models.JSONField(help_text='The values that decided which way a branch went, in words.', null=True),
        ),
        migrations.RunSQL(FORGET.format(details=DETAILS), FORGET.format(details="")),
    ]
