"""Whoever was merged is not erased: what was sent for them stays, for the customer to whom their id leads.

A call locks no customer, so its job may be committed, for the one who is merged, just before their row is deleted. A
merge therefore writes the alias first. The database's other triggers that mean an erasure find nothing to do: nobody
refers to the row any more, and an anonymous customer has no external id that a call could have named in vain.
"""

from django.db import migrations

KEEP = """
    CREATE OR REPLACE FUNCTION journeys_forget_payloads(sent_by varchar[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM journeys_trigger
        WHERE id = ANY(sent_by) AND customers <= 1000 AND payload <> '{}' ORDER BY id FOR NO KEY UPDATE;
        UPDATE journeys_trigger AS sent SET payload = '{}'
        WHERE id = ANY(sent_by) AND customers <= 1000 AND payload <> '{}' AND NOT EXISTS (
            SELECT FROM journeys_enrollmentjob job
            CROSS JOIN LATERAL (
                (SELECT FROM customers_customer known WHERE known.id = job.customer_id LIMIT 1)
                UNION ALL (SELECT FROM customers_alias merged WHERE merged.id = job.customer_id LIMIT 1)
            ) AS there
            WHERE job.trigger_id = sent.id
        );
    END
    $$;
"""

AS_BEFORE = """
    CREATE OR REPLACE FUNCTION journeys_forget_payloads(sent_by varchar[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM journeys_trigger
        WHERE id = ANY(sent_by) AND customers <= 1000 AND payload <> '{}' ORDER BY id FOR NO KEY UPDATE;
        UPDATE journeys_trigger AS sent SET payload = '{}'
        WHERE id = ANY(sent_by) AND customers <= 1000 AND payload <> '{}' AND NOT EXISTS (
            SELECT FROM journeys_enrollmentjob job
            CROSS JOIN LATERAL (SELECT FROM customers_customer known WHERE known.id = job.customer_id LIMIT 1) AS there
            WHERE job.trigger_id = sent.id
        );
    END
    $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('customers', '0001_version_1_0_0'),
        ('journeys', '0001_version_1_0_0'),
    ]

    operations = [migrations.RunSQL(KEEP, AS_BEFORE)]
