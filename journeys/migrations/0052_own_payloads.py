"""A job may have a payload of its own, and an entrance, which are forgotten with its customer.

The version before writes neither, and decides jobs that have them: whoever enrolls by a job holds its entrance, or is
refused by the index of those that hold one (0057), and whoever ends it in another way lets the entrance go.

Somebody who was merged is not erased: their alias is there. A call that commits just after an erasure is found by
whoever ends its jobs (journeys/engine/jobs/forgetting.py).
"""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import migrations, models

_FORGET = """
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
DETAILS = """UPDATE journeys_enrollmentjob SET details = NULL WHERE id = ANY(ARRAY(
                SELECT decided.id FROM erased CROSS JOIN LATERAL (
                    SELECT id FROM journeys_enrollmentjob job
                    WHERE job.customer_id = erased.id AND job.details IS NOT NULL OFFSET 0
                ) AS decided
            ));"""
AND_WHAT_WAS_SENT = """UPDATE journeys_enrollmentjob
            SET details = NULL, payload = NULL, entrance = NULL, holds_entrance = NULL WHERE id = ANY(ARRAY(
                SELECT sent.id FROM erased CROSS JOIN LATERAL (
                    SELECT id FROM journeys_enrollmentjob job
                    WHERE job.customer_id = erased.id
                      AND (job.details IS NOT NULL OR job.payload IS NOT NULL OR job.entrance IS NOT NULL) OFFSET 0
                ) AS sent
                WHERE NOT EXISTS (SELECT FROM customers_alias merged WHERE merged.id = erased.id)
            ));"""

HOLD = """
    CREATE OR REPLACE FUNCTION journeys_hold_entrance() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.holds_entrance := CASE WHEN NEW.result = 'enrolled' THEN true END;
            RETURN NEW;
        END
        $$;
    CREATE TRIGGER job_holds_its_entrance
    BEFORE UPDATE OF status ON journeys_enrollmentjob
    FOR EACH ROW WHEN (NEW.entrance IS NOT NULL AND OLD.status = 'queued' AND NEW.status <> 'queued')
    EXECUTE FUNCTION journeys_hold_entrance();
"""
LET_GO = """
    DROP TRIGGER job_holds_its_entrance ON journeys_enrollmentjob;
    DROP FUNCTION journeys_hold_entrance();
"""


class Migration(migrations.Migration):
    dependencies = [("journeys", "0051_in_app_deliveries")]

    operations = [
        migrations.AddField(
            model_name="enrollmentjob",
            name="payload",
            field=models.JSONField(
                encoder=DjangoJSONEncoder,
                help_text="Its own, over the trigger's; forgotten with the customer.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="enrollmentjob",
            name="entrance",
            field=models.CharField(
                help_text="What it is for, by the caller's id; forgotten with the customer.", max_length=128, null=True
            ),
        ),
        migrations.AddField(
            model_name="enrollmentjob", name="holds_entrance", field=models.BooleanField(editable=False, null=True)
        ),
        migrations.RunSQL(_FORGET.replace("{details}", AND_WHAT_WAS_SENT), _FORGET.replace("{details}", DETAILS)),
        migrations.RunSQL(HOLD, LET_GO),
    ]
