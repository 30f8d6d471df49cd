"""What was sent for several people is blanked as well, once the last of them is erased.

A payload stays as long as one of those whom its call named is there. Two erasures of the last two wait for each other
at the trigger's row, so that the second sees what the first has done. A call for more than a thousand went to a segment
rather than to people, and to look for the last of a million at each erasure would cost too much: it keeps its payload
until it is pruned.
"""

from django.db import migrations

FORGET = """
    CREATE FUNCTION journeys_forget_payloads(sent_by varchar[]) RETURNS void LANGUAGE plpgsql AS $$
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

    CREATE OR REPLACE FUNCTION journeys_forget_erased_customers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM journeys_forget_payloads(ARRAY(
            SELECT DISTINCT job.trigger_id FROM erased JOIN journeys_enrollmentjob AS job ON job.customer_id = erased.id
        ));
        RETURN NULL;
    END
    $$;
"""

AS_BEFORE = """
    CREATE OR REPLACE FUNCTION journeys_forget_erased_customers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE journeys_trigger AS sent
        SET payload = '{}'
        FROM erased JOIN journeys_enrollmentjob AS job ON job.customer_id = erased.id
        WHERE sent.id = job.trigger_id AND sent.customers = 1 AND sent.payload <> '{}';
        RETURN NULL;
    END
    $$;

    DROP FUNCTION journeys_forget_payloads(varchar[]);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('journeys', '0011_notice_after_the_lock'),
    ]

    operations = [migrations.RunSQL(FORGET, AS_BEFORE)]
