"""Whether the feed of a workspace is on. In a transaction of its own: it locks the workspaces."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0016_feed'),
    ]

    operations = [
        migrations.AddField(
            model_name='workspace',
            name='feed',
            field=models.BooleanField(db_default=False, default=False, help_text='Keep for some days what happens, for servers to read it.'),
        ),
        migrations.AddField(
            model_name='workspace',
            name='subscribed',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
