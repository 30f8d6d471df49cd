"""Messages that the service knows, and what the checks of their apps find about calls."""

import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.object_ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('bridge', '0004_form_once'),
        ('customers', '0009_events_of_messages'),
        ('engage', '0007_checks_of_the_bridge'),
    ]

    operations = [
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
            ],
            options={
                'verbose_name': 'in-app message',
            },
        ),
        migrations.AddField(
            model_name='interaction',
            name='action_id',
            field=models.CharField(db_default='', default='', help_text="The button or form of the message's definition.", max_length=100),
        ),
        migrations.AddField(
            model_name='interaction',
            name='identity_problem',
            field=models.CharField(db_default='', default='', help_text='Why the call would have been refused.', max_length=20),
        ),
        migrations.AddField(
            model_name='interaction',
            name='message_problems',
            field=models.JSONField(help_text="What the message's definition would have refused.", null=True),
        ),
        migrations.AddField(
            model_name='interaction',
            name='origin',
            field=models.CharField(db_default='', default='', help_text='The page, if there was a problem.', max_length=255),
        ),
        migrations.AddField(
            model_name='interaction',
            name='verified',
            field=models.BooleanField(help_text='Whether a token proved who the person is.', null=True),
        ),
        migrations.AddField(
            model_name='message',
            name='workspace',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(fields=('workspace', 'key'), name='message_key'),
        ),
    ]
