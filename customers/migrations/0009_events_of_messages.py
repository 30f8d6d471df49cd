"""Which in-app message an event came from, and whether its customer was proven."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('customers', '0008_events_since'),
    ]

    operations = [
        migrations.AddField(
            model_name='event',
            name='message_id',
            field=models.CharField(editable=False, help_text='The in-app message that it came from.', max_length=255, null=True),
        ),
        migrations.AddField(
            model_name='event',
            name='verified',
            field=models.BooleanField(editable=False, help_text='Whether the customer was proven; unknown where nobody asks for a proof.', null=True),
        ),
    ]
