"""The schema of version 1.0.0; functions and triggers of the database are in the .sql file beside."""

from pathlib import Path

import django.contrib.postgres.fields
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.encrypted_fields
import engage.database.object_ids
import engage.database.tenancy
import journeys.models.credentials
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('journeys', name) for name in (
        '0001_initial', '0002_forget_erased_customers', '0003_history', '0004_workspaces_do_not_mix',
        '0005_tried_enrollments', '0006_due_without_state', '0007_room_for_decisions',
        '0008_jobs_checked_by_key', '0009_large_triggers_keep_progress', '0010_names_in_the_admin',
        '0011_notice_after_the_lock', '0012_forget_payloads_of_all', '0013_forget_payloads_of_the_erased',
        '0014_no_newline_after_keys', '0015_event_that_ended_a_wait', '0016_progress_of_blocks',
        '0017_whom_calls_left_out', '0018_what_decisions_rest_on', '0019_turns_of_workspaces', '0020_encrypted',
        '0021_serial_of_a_trigger', '0022_enrollments_of_crowds', '0023_turns_of_walkers',
        '0024_events_not_from_the_bridge', '0025_counts', '0026_who_stands_at_a_step', '0027_resending',
        '0028_failures', '0029_merged_customers', '0030_jobs_by_former_id', '0031_batches_in_the_admin',
        '0032_lately', '0033_archived', '0034_steering', '0035_what_was_held',
        '0036_written_order_and_staff_triggers', '0037_claims_in_no_index', '0038_failures_in_the_admin',
    )]

    initial = True

    dependencies = [
        ('customers', '0001_version_1_0_0'),
        ('engage', '0001_version_1_0_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='Journey',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]*\\Z', 'Use lower-case letters, digits, - and _.')])),
                ('name', models.CharField(max_length=200)),
                ('trigger_type', models.CharField(choices=[('api', 'API'), ('event', 'Event')], default='api', max_length=10)),
                ('event_name', models.CharField(blank=True, help_text='The event that enters its customer.', max_length=255)),
                ('active', models.BooleanField(default=True)),
                ('max_entries_per_customer', models.PositiveIntegerField(blank=True, help_text='Unset behaves like 1.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('allow_reenrollment', models.BooleanField(default=False, help_text='With one entry per customer: may one who completed the journey enter again?')),
                ('entry_conditions', models.JSONField(blank=True, null=True)),
                ('revision', models.PositiveIntegerField(default=1, editable=False, help_text='The number of the current revision.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
                ('event_where', models.JSONField(blank=True, help_text='Of the events of that name, those that meet this condition; empty: all.', null=True)),
                ('event_from_bridge', models.BooleanField(db_default=True, default=True, help_text='Do events that in-app messages report count? Anybody can send those.', verbose_name='from in-app messages, too')),
                ('archived_at', models.DateTimeField(editable=False, help_text='An archived journey is hidden, and cannot be switched on.', null=True)),
                ('aborted_at', models.DateTimeField(editable=False, null=True)),
                ('guards', models.JSONField(blank=True, help_text='When so many of its webhooks fail, it is held.', null=True)),
                ('held_at', models.DateTimeField(editable=False, null=True)),
                ('held_because', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('held_by', models.CharField(blank=True, db_default='', default='', editable=False, max_length=200)),
                ('next_release_at', models.DateTimeField(editable=False, null=True)),
                ('per_minute', models.PositiveIntegerField(editable=False, null=True)),
                ('resumed_at', models.DateTimeField(editable=False, help_text='Set until all of them are released.', null=True)),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('active', True), ('trigger_type', 'event')), fields=['workspace', 'event_name'], name='journey_by_event'),
                    models.Index(condition=models.Q(('held_at__isnull', False), ('resumed_at__isnull', False), _connector='OR'), fields=['id'], name='journey_steered'),
                    models.Index(condition=models.Q(('guards__isnull', False)), fields=['id'], name='journey_guarded'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'key'), name='journey_key'),
                    models.CheckConstraint(condition=models.Q(('max_entries_per_customer', 0), _negated=True), name='journey_max_entries'),
                    models.CheckConstraint(condition=models.Q(models.Q(('event_name', ''), ('trigger_type', 'api')), models.Q(('trigger_type', 'event'), models.Q(('event_name', ''), _negated=True)), _connector='OR'), name='journey_event_name'),
                    models.CheckConstraint(condition=models.Q(('event_where__isnull', True), ('trigger_type', 'event'), _connector='OR'), name='journey_event_where'),
                    models.CheckConstraint(condition=models.Q(('event_from_bridge', True), ('trigger_type', 'event'), _connector='OR'), name='journey_event_from_bridge'),
                    models.CheckConstraint(condition=models.Q(('archived_at__isnull', True), ('active', False), _connector='OR'), name='journey_archived_inactive'),
                    models.CheckConstraint(condition=models.Q(('aborted_at__isnull', True), ('active', False), _connector='OR'), name='journey_aborted_inactive'),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name='journey',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='journey_in_workspace'),
        ),
        migrations.CreateModel(
            name='JourneyRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('steps', journeys.models.credentials.StepsField(default=list)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('journey', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='revisions', to='journeys.journey')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('exit_events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), db_default=[], default=list, help_text='The names of the events among them.', size=None)),
                ('exit_on', models.JSONField(db_default=[], default=list, help_text='The events and conditions that end an enrollment early.')),
                ('key_order', models.JSONField(db_default=[], default=list, editable=False)),
            ],
            options={
                'constraints': [engage.database.tenancy.WorkspaceForeignKey(field='journey', name='revision_journey', on_delete='CASCADE', table='journeys_journey')],
            },
        ),
        migrations.AddConstraint(
            model_name='journeyrevision',
            constraint=models.UniqueConstraint(fields=('journey', 'number'), name='revision_number'),
        ),
        migrations.AddConstraint(
            model_name='journeyrevision',
            constraint=models.UniqueConstraint(fields=('workspace', 'journey', 'id'), name='revision_in_journey'),
        ),
        migrations.CreateModel(
            name='Trigger',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('form', models.CharField(choices=[('single', 'Single'), ('bulk', 'Bulk')], max_length=10)),
                ('payload', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('customers', models.PositiveIntegerField(help_text='How many customers it named: its jobs.')),
                ('request_id', models.CharField(max_length=64)),
                ('queued_at', models.DateTimeField()),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.event')),
                ('journey', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('keeps_progress', models.BooleanField(db_default=False, editable=False)),
                ('selection', models.JSONField(editable=False, null=True)),
                ('called_by', models.CharField(blank=True, db_default='', default='', help_text='The id of the API key that sent it; empty if an event or staff did.', max_length=24)),
                ('serial', models.BigIntegerField(db_default=models.Func(models.Value('customers_serial'), function='nextval', output_field=models.BigIntegerField()), editable=False, null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('event__isnull', False)), fields=['event'], name='trigger_by_event')],
                'constraints': [
                    engage.database.tenancy.WorkspaceForeignKey(field='journey', name='trigger_journey', on_delete='CASCADE', table='journeys_journey'),
                    engage.database.tenancy.WorkspaceForeignKey(field='event', name='trigger_event', on_delete='SET NULL', table='customers_event'),
                ],
            },
        ),
        migrations.AddIndex(
            model_name='trigger',
            index=models.Index(fields=['journey', '-id'], name='trigger_by_journey'),
        ),
        migrations.AddConstraint(
            model_name='trigger',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='trigger_in_workspace'),
        ),
        migrations.CreateModel(
            name='EnrollmentJob',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('ordinal', models.PositiveIntegerField(help_text='Its place in the trigger, from 0.')),
                ('queued_ms', models.BigIntegerField(help_text="The job id's epoch milliseconds.")),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('decided', 'Decided'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('result', models.CharField(blank=True, choices=[('enrolled', 'Enrolled'), ('already_enrolled', 'Already Enrolled'), ('max_entries_reached', 'Max Entries Reached'), ('conditions_not_met', 'Conditions Not Met'), ('journey_inactive', 'Journey Inactive'), ('customer_deleted', 'Customer Deleted'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], max_length=20)),
                ('reason', models.TextField(blank=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('customer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.customer')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('journey', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('trigger', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='jobs', to='journeys.trigger')),
                ('details', models.JSONField(null=True)),
                ('queued_as', models.CharField(editable=False, help_text='Its id, if its customer was merged into this one since.', max_length=80, null=True)),
            ],
            options={
                'verbose_name': 'job',
                'indexes': [models.Index(condition=models.Q(('queued_as__isnull', False)), fields=['queued_as'], name='job_queued_as')],
                'constraints': [
                    models.UniqueConstraint(fields=('customer', 'journey', 'queued_ms'), name='job_id'),
                    models.UniqueConstraint(fields=('trigger', 'ordinal'), name='job_in_trigger'),
                    models.UniqueConstraint(fields=('workspace', 'id'), name='job_in_workspace'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Enrollment',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('active', 'Active'), ('completed', 'Completed'), ('exited', 'Exited')], default='active', max_length=10)),
                ('exit_reason', models.TextField(blank=True)),
                ('step_id', models.CharField(blank=True, max_length=100)),
                ('step_began_at', models.DateTimeField(help_text='When it began the step; unset while the step is ahead, and after the end.', null=True)),
                ('due_at', models.DateTimeField(help_text='Unset while a webhook is being sent, and after the end.', null=True)),
                ('attempts', models.PositiveIntegerField(default=0, help_text='How often going on failed since it last went well.')),
                ('entered_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('customer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.customer')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('job', models.OneToOneField(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='enrollment', to='journeys.enrollmentjob')),
                ('journey', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('revision', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journeyrevision')),
                ('awaits_event', models.CharField(blank=True, db_default='', default='', help_text='Emptied by the event that it waits for.', max_length=255)),
                ('chain', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('error', models.TextField(blank=True, db_default='', default='', help_text='Why the last attempt failed.')),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.event')),
                ('steps_begun', models.PositiveIntegerField(db_default=0, default=0, help_text='How many steps its history has.')),
                ('crowd', models.BooleanField(db_default=False, default=False, help_text='Whether it entered with many others, by a large call or many events; a crowd lets others go first.')),
                ('was_due_at', models.DateTimeField(help_text='While its journey is held: when it became due. It is due again once it is released.', null=True)),
                ('claimed_until', models.DateTimeField(editable=False, help_text='Set while a walker has it; once that is past, the walker has died.', null=True)),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='enrollment_by_due'),
                    models.Index(models.F('crowd'), models.F('workspace'), models.Func('due_at', template="coalesce(%(expressions)s, 'infinity')"), condition=models.Q(('attempts', 0), ('due_at__isnull', False)), name='enrollment_in_turn'),
                    models.Index(models.F('crowd'), models.F('workspace'), models.Func('due_at', template="coalesce(%(expressions)s, 'infinity')"), condition=models.Q(('attempts__gt', 0), ('due_at__isnull', False)), name='enrollment_tried_in_turn'),
                    models.Index(condition=models.Q(('step_began_at__isnull', False)), fields=['journey', 'step_id', 'id'], name='enrollment_by_step'),
                    models.Index(condition=models.Q(('exit_reason__startswith', 'Given up after ')), fields=['ended_at', 'id'], name='enrollment_given_up'),
                    models.Index(condition=models.Q(('was_due_at__isnull', False)), fields=['journey', 'was_due_at'], name='enrollment_parked'),
                ],
                'constraints': [
                    engage.database.tenancy.WorkspaceForeignKey(field='customer', name='enrollment_customer', on_delete='CASCADE', table='customers_customer'),
                    engage.database.tenancy.WorkspaceForeignKey(field='event', name='enrollment_event', on_delete='SET NULL', table='customers_event'),
                    engage.database.tenancy.WorkspaceForeignKey(field='revision', name='enrollment_revision_and_journey', on_delete='CASCADE', table='journeys_journeyrevision', within=('journey',)),
                    engage.database.tenancy.WorkspaceForeignKey(field='job', name='enrollment_job', on_delete='SET NULL', table='journeys_enrollmentjob'),
                    models.CheckConstraint(condition=models.Q(('due_at__isnull', True), ('state', 'active'), _connector='OR'), name='enrollment_due_inside'),
                ],
            },
        ),
        migrations.AddIndex(
            model_name='enrollment',
            index=models.Index(condition=models.Q(('state', 'completed')), fields=['customer', 'journey'], name='enrollment_completed'),
        ),
        migrations.AddIndex(
            model_name='enrollment',
            index=models.Index(fields=['customer', '-id'], name='enrollment_by_customer'),
        ),
        migrations.AddIndex(
            model_name='enrollment',
            index=models.Index(fields=['workspace', 'journey', 'id'], name='enrollment_by_journey'),
        ),
        migrations.AddConstraint(
            model_name='enrollment',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('customer', 'journey'), name='enrollment_one_active'),
        ),
        migrations.AddIndex(
            model_name='enrollment',
            index=models.Index(condition=models.Q(('event__isnull', False)), fields=['event'], name='enrollment_by_event'),
        ),
        migrations.AddConstraint(
            model_name='enrollment',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='enrollment_in_workspace'),
        ),
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('start', models.PositiveIntegerField()),
                ('stop', models.PositiveIntegerField()),
                ('lane', models.CharField(choices=[('single', 'Single'), ('bulk', 'Bulk')], max_length=10)),
                ('turn_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('error', models.TextField(blank=True, help_text='Why the last attempt failed.')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('trigger', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.trigger')),
            ],
            options={
                'verbose_name': 'waiting batch',
                'verbose_name_plural': 'waiting batches',
                'indexes': [models.Index(fields=['lane', 'workspace', 'turn_at'], name='chunk_in_turn')],
                'constraints': [
                    models.UniqueConstraint(fields=('trigger', 'start'), name='chunk_in_trigger'),
                    engage.database.tenancy.WorkspaceForeignKey(field='trigger', name='chunk_trigger', on_delete='CASCADE', table='journeys_trigger'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StepRun',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('ordinal', models.PositiveIntegerField(help_text="Its place in the enrollment's history, from 0.")),
                ('step_id', models.CharField(max_length=100)),
                ('type', models.CharField(max_length=20)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('failed', 'Failed'), ('interrupted', 'Interrupted')], max_length=12)),
                ('detail', models.TextField(blank=True, help_text='What it came to, in words.')),
                ('missing', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, help_text='Names in its templates that had no value.', size=None)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('enrollment', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='step_runs', to='journeys.enrollment')),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, help_text='The event that it recorded, or that ended its wait.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.event')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('because', models.JSONField(help_text='The values that decided which way a branch went, in words.', null=True)),
            ],
            options={
                'constraints': [
                    engage.database.tenancy.WorkspaceForeignKey(field='enrollment', name='step_run_enrollment', on_delete='CASCADE', table='journeys_enrollment'),
                    engage.database.tenancy.WorkspaceForeignKey(field='event', name='step_run_event', on_delete='SET NULL', table='customers_event'),
                ],
            },
        ),
        migrations.AddIndex(
            model_name='steprun',
            index=models.Index(condition=models.Q(('event__isnull', False)), fields=['event'], name='step_run_by_event'),
        ),
        migrations.AddConstraint(
            model_name='steprun',
            constraint=models.UniqueConstraint(fields=('enrollment', 'ordinal'), name='step_run_in_enrollment'),
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('ordinal', models.PositiveIntegerField(help_text="The place of its step in the enrollment's history.")),
                ('host', models.CharField(help_text='Where it goes to, with the port: what a circuit is kept for.', max_length=260)),
                ('method', models.CharField(max_length=10)),
                ('url', models.TextField()),
                ('headers', journeys.models.credentials.EncryptedHeadersField(default=dict)),
                ('body', models.TextField(null=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('held', 'Held'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('dropped', 'Dropped')], default='waiting', max_length=10)),
                ('result', models.TextField(blank=True, default='', help_text='What it came to, in words.')),
                ('attempts', models.PositiveIntegerField(default=0, help_text='Attempts made and recorded.')),
                ('due_at', models.DateTimeField(help_text='When the next attempt is due; of one that has ended, when it did.')),
                ('again', models.BooleanField(default=False, help_text='Staff asked to send it again; that moves nobody.')),
                ('enrollment', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='deliveries', to='journeys.enrollment')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('held_for', models.CharField(help_text='Its journey, while it is held.', max_length=24, null=True)),
            ],
            options={
                'verbose_name_plural': 'failures',
                'indexes': [
                    models.Index(condition=models.Q(('state', 'failed'), models.Q(('attempts__gt', 0), ('state', 'waiting')), _connector='OR'), fields=['due_at', 'id'], name='delivery_failing'),
                    models.Index(condition=models.Q(('state', 'held')), fields=['held_for', 'due_at'], name='delivery_held'),
                ],
                'constraints': [engage.database.tenancy.WorkspaceForeignKey(field='enrollment', name='delivery_enrollment', on_delete='CASCADE', table='journeys_enrollment')],
            },
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['workspace', 'host', 'due_at'], name='delivery_due_by_host'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='delivery_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('enrollment', 'ordinal'), name='delivery_of_step'),
        ),
        migrations.CreateModel(
            name='WebhookAttempt',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(help_text='From 1.')),
                ('at', models.DateTimeField()),
                ('milliseconds', models.PositiveIntegerField()),
                ('status', models.PositiveIntegerField(help_text='Unset where no answer came.', null=True)),
                ('answer', models.TextField(blank=True, help_text='The first 4 KiB of the answer.')),
                ('error', models.TextField(blank=True)),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('delivery', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='made', to='journeys.webhookdelivery')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('delivery', 'number'), name='attempt_of_delivery'),
                    engage.database.tenancy.WorkspaceForeignKey(field='delivery', name='attempt_delivery', on_delete='CASCADE', table='journeys_webhookdelivery'),
                ],
            },
        ),
        migrations.CreateModel(
            name='WebhookHost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(max_length=260)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('failing_since', models.DateTimeField(null=True)),
                ('open_until', models.DateTimeField(null=True)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'host'), name='webhook_host')],
            },
        ),
        migrations.CreateModel(
            name='WebhookSecret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('secret', engage.database.encrypted_fields.EncryptedTextField(help_text='whsec_ and 32 bytes in base64.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('retires_at', models.DateTimeField(null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhook_secrets', to='engage.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('retires_at', None)), fields=('workspace',), name='webhook_secret_current')],
            },
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
                ('block', models.IntegerField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['trigger'], name='progress_by_trigger')],
                'constraints': [engage.database.tenancy.WorkspaceForeignKey(field='trigger', name='progress_trigger', on_delete='CASCADE', table='journeys_trigger')],
            },
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
                'constraints': [
                    models.UniqueConstraint(fields=('trigger', 'excluded', 'place'), name='unknown_in_trigger'),
                    engage.database.tenancy.WorkspaceForeignKey(field='trigger', name='unknown_trigger', on_delete='CASCADE', table='journeys_trigger'),
                ],
            },
        ),
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
                'indexes': [models.Index(condition=models.Q(('grain', 'hour'), ('kind__in', ['entry', 'end'])), fields=['begin', 'journey'], name='count_by_hour')],
                'constraints': [
                    models.UniqueConstraint(fields=('journey', 'grain', 'begin', 'kind', 'name', 'outcome', 'revision_id'), name='count_once'),
                    engage.database.tenancy.WorkspaceForeignKey(field='journey', name='count_journey', on_delete='CASCADE', table='journeys_journey'),
                ],
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
        migrations.CreateModel(
            name='Resending',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
                ('asked_by', models.CharField(max_length=150)),
                ('asked_at', models.DateTimeField()),
                ('host', models.CharField(blank=True, max_length=260)),
                ('status', models.PositiveIntegerField(help_text='Of the last answer; 0: none came.', null=True)),
                ('journey_id', models.CharField(blank=True, max_length=24)),
                ('since', models.DateTimeField(null=True)),
                ('before', models.DateTimeField()),
                ('total', models.PositiveIntegerField(help_text='How many there were when it was asked for.')),
                ('looked_at', models.PositiveIntegerField(default=0)),
                ('sent', models.PositiveIntegerField(default=0)),
                ('place_at', models.DateTimeField(null=True)),
                ('place_id', models.BigIntegerField(default=0)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['id'], name='resending_open')],
            },
        ),
        migrations.CreateModel(
            name='GuardedResults',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('journey', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('latest', models.TextField(default='')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'constraints': [engage.database.tenancy.WorkspaceForeignKey(field='journey', name='guarded_journey', on_delete='CASCADE', table='journeys_journey')],
            },
        ),
        migrations.CreateModel(
            name='SteeredHost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(help_text='With the port: mail.example:443.', max_length=260)),
                ('held_at', models.DateTimeField(editable=False, null=True)),
                ('held_by', models.CharField(blank=True, editable=False, max_length=200)),
                ('held_because', models.TextField(blank=True, editable=False)),
                ('per_second', models.FloatField(blank=True, help_text='How many requests begin in a second; empty: as many as there is room for.', null=True, validators=[django.core.validators.MinValueValidator(0.01), django.core.validators.MaxValueValidator(1000)])),
                ('next_at', models.DateTimeField(editable=False, help_text='When the next one may begin.', null=True)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'host'), name='steered_host')],
            },
        ),
        migrations.CreateModel(
            name='SteeringAct',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('host', models.CharField(blank=True, max_length=260)),
                ('kind', models.CharField(choices=[('hold', 'Hold'), ('resume', 'Resume'), ('close', 'Close'), ('activate', 'Activate'), ('abort', 'Abort'), ('cancel', 'Cancel'), ('hold_host', 'Hold Host'), ('release_host', 'Release Host'), ('rate_host', 'Rate Host')], max_length=12)),
                ('actor', models.CharField(help_text="Who did it, in words: a key, staff, or the journey's guard.", max_length=200)),
                ('reason', models.TextField(blank=True)),
                ('numbers', models.JSONField(default=dict, help_text='What it did.')),
                ('at', models.DateTimeField()),
                ('journey', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('trigger', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.trigger')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['journey', '-id'], name='act_by_journey'),
                    models.Index(condition=models.Q(('trigger__isnull', False)), fields=['trigger'], name='act_by_trigger'),
                ],
                'constraints': [
                    engage.database.tenancy.WorkspaceForeignKey(field='journey', name='act_journey', on_delete='CASCADE', table='journeys_journey'),
                    engage.database.tenancy.WorkspaceForeignKey(field='trigger', name='act_trigger', on_delete='SET NULL', table='journeys_trigger'),
                ],
            },
        ),
        migrations.RunSQL(Path(__file__).with_suffix('.sql').read_text()),
    ]
