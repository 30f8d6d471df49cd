"""Subscriptions: the feed, pushed to servers."""

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.object_ids
import engage.database.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0017_workspaces_with_a_feed'),
        ('journeys', '0061_decisions_are_told_by_their_times'),
    ]

    operations = [
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]*\\Z', 'Use lower-case letters, digits, - and _.')])),
                ('url', models.TextField(help_text='Where events are posted, signed as webhooks are.')),
                ('host', models.CharField(blank=True, editable=False, help_text='Of the URL, with the port.', max_length=260)),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('job.decided', 'Job Decided'), ('trigger.completed', 'Trigger Completed'), ('enrollment.started', 'Enrollment Started'), ('enrollment.completed', 'Enrollment Completed'), ('enrollment.exited', 'Enrollment Exited'), ('webhook.failed', 'Webhook Failed'), ('journey.held', 'Journey Held'), ('message.refused', 'Message Refused'), ('customer.erased', 'Customer Erased')], max_length=30), blank=True, help_text='The types of events that are pushed; empty: all.', null=True, size=None)),
                ('journeys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, help_text='The keys of the journeys whose events are pushed; empty: all, and what is of no journey.', null=True, size=None)),
                ('batch', models.PositiveSmallIntegerField(default=100, help_text='How many events one request has at most.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('position', models.BigIntegerField(default=0, editable=False)),
                ('number', models.BigIntegerField(default=0, editable=False)),
                ('failing_since', models.DateTimeField(editable=False, help_text='Nothing was delivered since then.', null=True)),
                ('last_failure', models.TextField(blank=True, default='', editable=False)),
                ('paused_at', models.DateTimeField(editable=False, help_text='Nothing is pushed any more.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='Push',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('test', models.BooleanField(default=False)),
                ('size', models.PositiveSmallIntegerField(help_text='The number of events.')),
                ('after_position', models.BigIntegerField(default=0)),
                ('after_number', models.BigIntegerField(default=0)),
                ('last_position', models.BigIntegerField(default=0)),
                ('last_number', models.BigIntegerField(default=0)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('attempts', models.PositiveIntegerField(default=0, help_text='Attempts made and recorded.')),
                ('due_at', models.DateTimeField(db_default=django.contrib.postgres.functions.TransactionNow(), help_text='When the next attempt is due; of one that has ended, when it did.')),
                ('tried_at', models.DateTimeField(help_text='When the last attempt began.', null=True)),
                ('milliseconds', models.PositiveIntegerField(help_text='How long it took.', null=True)),
                ('status', models.PositiveIntegerField(help_text='The status of its answer, if one came.', null=True)),
                ('result', models.TextField(blank=True, default='', help_text='What the last attempt came to, in words.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('subscription', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='pushes', to='journeys.subscription')),
            ],
            options={
                'verbose_name_plural': 'pushes',
            },
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(fields=('workspace', 'key'), name='subscription_key'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='subscription_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='push',
            constraint=engage.database.tenancy.WorkspaceForeignKey(field='subscription', name='push_subscription', on_delete='CASCADE', table='journeys_subscription'),
        ),
        migrations.AddIndex(
            model_name='push',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['subscription', 'due_at'], name='push_due'),
        ),
        migrations.AddIndex(
            model_name='push',
            index=models.Index(fields=['subscription', '-id'], name='push_latest'),
        ),
    ]
