"""The schema of version 1.0.0."""

import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.object_ids
import engage.database.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('bridge', name) for name in (
        '0001_initial', '0002_event_of_an_interaction', '0003_names_in_the_admin', '0004_form_once',
        '0005_messages', '0006_interactions_by_message', '0007_identify',
    )]

    initial = True

    dependencies = [
        ('customers', '0001_version_1_0_0'),
        ('engage', '0001_version_1_0_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='Interaction',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('message_id', models.CharField(max_length=255)),
                ('kind', models.CharField(choices=[('close', 'Close'), ('track_event', 'Track Event'), ('update_profile', 'Update Profile'), ('link', 'Link'), ('capture', 'Capture'), ('identify', 'Identify')], max_length=20)),
                ('form_data', models.JSONField(default=dict, help_text='Empty if the event holds what was sent.')),
                ('attributes_written', models.JSONField(default=list, help_text='The names of the attributes written.')),
                ('created_customer', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('app', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.app')),
                ('customer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.customer')),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.event')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('action_id', models.CharField(db_default='', default='', help_text="The button or form of the message's definition.", max_length=100)),
                ('identity_problem', models.CharField(db_default='', default='', help_text='Why the call would have been refused.', max_length=20)),
                ('message_problems', models.JSONField(help_text="What the message's definition would have refused.", null=True)),
                ('origin', models.CharField(db_default='', default='', help_text='The page, if there was a problem.', max_length=255)),
                ('verified', models.BooleanField(help_text='Whether a token proved who the person is.', null=True)),
            ],
            options={
                'verbose_name': 'in-app interaction',
                'indexes': [
                    models.Index(fields=['workspace', 'customer', '-id'], name='interaction_by_customer'),
                    models.Index(condition=models.Q(('event__isnull', False)), fields=['event'], name='interaction_by_event'),
                    models.Index(fields=['message_id', 'workspace', '-id'], name='interaction_by_message'),
                    models.Index(condition=models.Q(('message_problems__isnull', False)), fields=['message_id', 'workspace', '-id'], name='interaction_with_problems'),
                    models.Index(condition=models.Q(('verified__isnull', False)), fields=['app', '-id'], include=('verified', 'identity_problem'), name='interaction_by_identity'),
                ],
                'constraints': [
                    engage.database.tenancy.WorkspaceForeignKey(field='customer', name='interaction_customer', on_delete='CASCADE', table='customers_customer'),
                    engage.database.tenancy.WorkspaceForeignKey(field='app', name='interaction_app', on_delete='CASCADE', table='engage_app'),
                    engage.database.tenancy.WorkspaceForeignKey(field='event', name='interaction_event', on_delete='SET NULL', table='customers_event'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('key', models.CharField(help_text="The messageId in the page's calls.", max_length=255)),
                ('status', models.CharField(choices=[('draft', 'Draft'), ('active', 'Active'), ('archived', 'Archived')], default='draft', max_length=10)),
                ('revision', models.PositiveIntegerField(default=1, editable=False)),
                ('actions', models.JSONField(blank=True, default=list)),
                ('forms', models.JSONField(blank=True, default=list)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
            options={
                'verbose_name': 'in-app message',
                'constraints': [models.UniqueConstraint(fields=('workspace', 'key'), name='message_key')],
            },
        ),
    ]
