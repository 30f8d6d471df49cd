"""Who is told of a workspace's alerts. In a transaction of its own: it locks the workspaces."""

import engage.notations.recipients
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0020_alerts'),
    ]

    operations = [
        migrations.AddField(
            model_name='workspace',
            name='alert_connection',
            field=models.CharField(blank=True, db_default='', default='', help_text="The key of a connection of this workspace that takes a text, such as Slack's.", max_length=200, verbose_name='alerts by connection'),
        ),
        migrations.AddField(
            model_name='workspace',
            name='alert_emails',
            field=models.TextField(blank=True, db_default='', default='', help_text='Who is told when something is wrong in it: addresses, separated by commas.', validators=[engage.notations.recipients.validate_addresses], verbose_name='alerts by e-mail'),
        ),
    ]
