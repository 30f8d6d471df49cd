"""Connections to providers, and steps that are skipped: the version before leaves such steps to this one."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.object_ids
import journeys.models.credentials
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0014_member_accounts'),
        ('journeys', '0046_watches_until'),
    ]

    operations = [
        migrations.AlterField(
            model_name='steprun',
            name='state',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('failed', 'Failed'), ('skipped', 'Skipped'), ('interrupted', 'Interrupted')], max_length=12),
        ),
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]*\\Z', 'Use lower-case letters, digits, - and _.')])),
                ('name', models.CharField(max_length=200)),
                ('channel', models.CharField(choices=[('email', 'E-mail'), ('sms', 'SMS'), ('push', 'Push'), ('chat', 'Chat'), ('other', 'Other')], default='other', max_length=10)),
                ('definition', journeys.models.credentials.RequestField(help_text='What is sent, and what it wants to be given.')),
                ('host', models.CharField(blank=True, editable=False, help_text='Where it goes to, with the port.', max_length=260)),
                ('per_second', models.FloatField(blank=True, help_text='How many requests begin in a second; empty: as many as there is room for.', null=True, validators=[django.core.validators.MinValueValidator(0.01), django.core.validators.MaxValueValidator(1000)])),
                ('next_at', models.DateTimeField(editable=False, help_text='When the next one may begin.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('per_second__isnull', False)), fields=['id'], name='connection_with_a_rate')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'key'), name='connection_key')],
            },
        ),
    ]
