"""The progress of a large trigger is noted for each block of five hundred jobs.

So jobs with a result are found among a million without an index by result, which would have to be changed by every
decision (see 0007_room_for_decisions.py). What was noted before stays without a block. The function is otherwise that
of 0009_large_triggers_keep_progress.py.
"""

from django.db import migrations, models

NOTE = """
    CREATE OR REPLACE FUNCTION journeys_note_progress() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        INSERT INTO journeys_triggerprogress (workspace_id, trigger_id, status, result, {block} jobs)
        SELECT large.workspace_id, changed.trigger_id, changed.status, changed.result, {changed_block} changed.jobs
        FROM (
            SELECT trigger_id, status, result, {block} sum(one) AS jobs
            FROM (
                SELECT trigger_id, status, result, {of_ordinal} 1 AS one FROM after WHERE status <> 'queued'
                UNION ALL
                SELECT trigger_id, status, result, {of_ordinal} -1 FROM before WHERE status <> 'queued'
            ) AS counted
            GROUP BY {block} trigger_id, status, result HAVING sum(one) <> 0
        ) AS changed
        CROSS JOIN LATERAL (
            SELECT workspace_id FROM journeys_trigger sent
            WHERE sent.id = changed.trigger_id AND sent.keeps_progress LIMIT 1
        ) AS large;
        RETURN NULL;
    END
    $$;
"""
BY_BLOCK = NOTE.format(block="block,", changed_block="changed.block,", of_ordinal="ordinal / 500 AS block,")
AS_BEFORE = NOTE.format(block="", changed_block="", of_ordinal="")


class Migration(migrations.Migration):

    dependencies = [
        ('journeys', '0015_event_that_ended_a_wait'),
    ]

    operations = [
        migrations.AddField(
            model_name='triggerprogress',
            name='block',
            field=models.IntegerField(null=True),
        ),
        migrations.RunSQL(BY_BLOCK, AS_BEFORE),
    ]
