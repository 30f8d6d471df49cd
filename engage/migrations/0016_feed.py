"""The feed: what happens in a workspace, for servers to read it."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import engage.database.object_ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0015_in_app_of_apps'),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE engage_feed_serial; CREATE SEQUENCE engage_feed_position",
            "DROP SEQUENCE engage_feed_serial; DROP SEQUENCE engage_feed_position",
        ),
        migrations.CreateModel(
            name='FeedBatch',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(db_default=django.db.models.expressions.RawSQL("lpad(to_hex(extract(epoch FROM statement_timestamp())::bigint), 8, '0') || left(replace(gen_random_uuid()::text, '-', ''), 16)", ()), default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('serial', models.BigIntegerField(db_default=models.Func(models.Value('engage_feed_serial'), function='nextval', output_field=models.BigIntegerField()), editable=False)),
                ('position', models.BigIntegerField(editable=False, null=True)),
                ('type', models.CharField(choices=[('job.decided', 'Job Decided'), ('trigger.completed', 'Trigger Completed'), ('enrollment.started', 'Enrollment Started'), ('enrollment.completed', 'Enrollment Completed'), ('enrollment.exited', 'Enrollment Exited'), ('webhook.failed', 'Webhook Failed'), ('journey.held', 'Journey Held'), ('message.refused', 'Message Refused'), ('customer.erased', 'Customer Erased')], max_length=30)),
                ('journey_id', models.CharField(max_length=24, null=True)),
                ('at', models.DateTimeField(db_default=django.db.models.expressions.RawSQL('statement_timestamp()', ()))),
                ('size', models.PositiveIntegerField(help_text='The number of events.')),
                ('customer_ids', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('external_ids', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('trigger_ids', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('job_ids', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('enrollment_ids', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('results', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('reasons', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('position__isnull', True)), fields=['workspace', 'serial'], name='feed_without_position')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('position__isnull', False)), fields=('workspace', 'position'), name='feed_by_position')],
            },
        ),
    ]
