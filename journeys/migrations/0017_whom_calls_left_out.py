"""A trigger tells who sent it, and whom it named and left out.

Of customers it keeps ids only. External ids that nobody had are kept as they were sent, and belong to whoever has them
when a customer is erased: they are erased as well, and so is the payload if the call queued nobody else.
"""

import django.db.models.deletion
import engage.database.tenancy
from django.db import migrations, models

FORGET = """
    CREATE OR REPLACE FUNCTION journeys_forget_erased_customers() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off AS $$
    DECLARE
        named_in_vain varchar[];
    BEGIN
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

AS_BEFORE = """
    CREATE OR REPLACE FUNCTION journeys_forget_erased_customers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM journeys_forget_payloads(ARRAY(
            SELECT DISTINCT job.trigger_id FROM erased JOIN journeys_enrollmentjob AS job ON job.customer_id = erased.id
        ));
        RETURN NULL;
    END
    $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0005_what_is_wrong_with_a_rate'),
        ('journeys', '0016_progress_of_blocks'),
    ]

    operations = [
        migrations.AddField(
            model_name='trigger',
            name='selection',
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='trigger',
            name='called_by',
            field=models.CharField(blank=True, db_default='', default='', help_text='The id of the API key that sent it; empty if an event did.', max_length=24),
        ),
        migrations.CreateModel(
            name='UnknownExternalId',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('excluded', models.BooleanField(help_text='Whether the call named it as an exclusion.')),
                ('place', models.PositiveSmallIntegerField(help_text="Its place in the call's list, from 1.")),
                ('external_id', models.CharField(max_length=255)),
                ('trigger', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.trigger')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['external_id', 'workspace'], name='unknown_by_external_id')],
                'constraints': [models.UniqueConstraint(fields=('trigger', 'excluded', 'place'), name='unknown_in_trigger'), engage.database.tenancy.WorkspaceForeignKey(field='trigger', name='unknown_trigger', on_delete='CASCADE', table='journeys_trigger')],
            },
        ),
        migrations.RunSQL(FORGET, AS_BEFORE),
    ]
