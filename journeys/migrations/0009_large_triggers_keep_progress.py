"""The jobs of a large trigger are counted as they change, so that to tell how far it has come takes no look at each.

The database counts, because several places write decisions, and so does the version before this one while the processes
are being replaced. What changes is the difference between the rows before a statement and after it; a join of the two
would be a trap, because a plan that was made for one job is kept for five hundred. Triggers are looked up by their keys
in any case, as in 0008_jobs_checked_by_key.py.
"""

import django.db.models.deletion
import engage.database.tenancy
from django.db import migrations, models


NOTE = """
    CREATE FUNCTION journeys_note_progress() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        INSERT INTO journeys_triggerprogress (workspace_id, trigger_id, status, result, jobs)
        SELECT large.workspace_id, changed.trigger_id, changed.status, changed.result, changed.jobs
        FROM (
            SELECT trigger_id, status, result, sum(one) AS jobs
            FROM (
                SELECT trigger_id, status, result, 1 AS one FROM after WHERE status <> 'queued'
                UNION ALL
                SELECT trigger_id, status, result, -1 FROM before WHERE status <> 'queued'
            ) AS counted
            GROUP BY trigger_id, status, result HAVING sum(one) <> 0
        ) AS changed
        CROSS JOIN LATERAL (
            SELECT workspace_id FROM journeys_trigger sent
            WHERE sent.id = changed.trigger_id AND sent.keeps_progress LIMIT 1
        ) AS large;
        RETURN NULL;
    END
    $$;
    CREATE TRIGGER job_progress_is_noted
    AFTER UPDATE ON journeys_enrollmentjob REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION journeys_note_progress();
"""

FORGET = """
    DROP TRIGGER job_progress_is_noted ON journeys_enrollmentjob;
    DROP FUNCTION journeys_note_progress();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0003_rates'),
        ('journeys', '0008_jobs_checked_by_key'),
    ]

    operations = [
        migrations.AddField(
            model_name='trigger',
            name='keeps_progress',
            field=models.BooleanField(db_default=False, editable=False),
        ),
        migrations.CreateModel(
            name='TriggerProgress',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('status', models.CharField(max_length=10)),
                ('result', models.CharField(max_length=20)),
                ('jobs', models.IntegerField()),
                ('trigger', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.trigger')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['trigger'], name='progress_by_trigger')],
                'constraints': [engage.database.tenancy.WorkspaceForeignKey(field='trigger', name='progress_trigger', on_delete='CASCADE', table='journeys_trigger')],
            },
        ),
        migrations.RunSQL(NOTE, FORGET),
    ]
