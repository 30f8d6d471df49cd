"""Counts of what journeys do, and of those who were inside when they were erased: they have left.

The app that erases knows of no journeys, so a trigger of the database counts, as in 0002_forget_erased_customers.py.
Whoever deletes what has ended changes no count.
"""

import django.db.models.deletion
import engage.database.tenancy
from django.db import migrations, models


LEAVE = """
    CREATE FUNCTION journeys_count_erased() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
        SELECT erased.workspace_id, erased.journey_id, erased.revision_id, date_trunc('hour', now(), 'UTC'),
               way.kind, way.name, way.outcome, count(*)
        FROM erased
        CROSS JOIN LATERAL (
            VALUES ('edge', CASE WHEN erased.steps_begun = 0 THEN '@entry' ELSE erased.step_id END, '@exited'),
                   ('end', erased.step_id, 'interrupted')
        ) AS way(kind, name, outcome)
        WHERE erased.state = 'active' AND (way.kind = 'edge' OR erased.step_began_at IS NOT NULL)
          AND EXISTS (SELECT FROM journeys_journey journey WHERE journey.id = erased.journey_id)
        GROUP BY erased.workspace_id, erased.journey_id, erased.revision_id, way.kind, way.name, way.outcome;
        RETURN NULL;
    END
    $$;

    CREATE TRIGGER erased_enrollments_are_counted
    AFTER DELETE ON journeys_enrollment
    REFERENCING OLD TABLE AS erased
    FOR EACH STATEMENT EXECUTE FUNCTION journeys_count_erased();
"""

STAY = """
    DROP TRIGGER erased_enrollments_are_counted ON journeys_enrollment;
    DROP FUNCTION journeys_count_erased();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0007_checks_of_the_bridge'),
        ('journeys', '0024_events_not_from_the_bridge'),
    ]

    operations = [
        migrations.CreateModel(
            name='Count',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('grain', models.CharField(choices=[('hour', 'Hour'), ('day', 'Day'), ('all', 'All')], max_length=4)),
                ('begin', models.DateTimeField()),
                ('revision_id', models.BigIntegerField()),
                ('kind', models.CharField(choices=[('entry', 'Entry'), ('edge', 'Edge'), ('end', 'End')], max_length=5)),
                ('name', models.CharField(max_length=100)),
                ('outcome', models.CharField(blank=True, max_length=100)),
                ('number', models.BigIntegerField()),
                ('journey', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('journey', 'grain', 'begin', 'kind', 'name', 'outcome', 'revision_id'), name='count_once'), engage.database.tenancy.WorkspaceForeignKey(field='journey', name='count_journey', on_delete='CASCADE', table='journeys_journey')],
            },
        ),
        migrations.CreateModel(
            name='CountDelta',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('revision_id', models.BigIntegerField(help_text='0 for what concerns no revision: entries that enrolled nobody.')),
                ('hour', models.DateTimeField()),
                ('kind', models.CharField(choices=[('entry', 'Entry'), ('edge', 'Edge'), ('end', 'End')], max_length=5)),
                ('name', models.CharField(max_length=100)),
                ('outcome', models.CharField(blank=True, max_length=100)),
                ('number', models.BigIntegerField()),
                ('journey', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['journey'], name='delta_by_journey')],
                'constraints': [engage.database.tenancy.WorkspaceForeignKey(field='journey', name='delta_journey', on_delete='CASCADE', table='journeys_journey')],
            },
        ),
        migrations.RunSQL(LEAVE, STAY),
    ]
