"""A trigger may say until when its jobs count. The version before decides them as if it did not."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0058_scheduled_jobs")]

    operations = [
        migrations.AddField(
            model_name="trigger",
            name="expires_at",
            field=models.DateTimeField(
                help_text="What is not decided by then is decided as expired.", null=True
            ),
        ),
    ]
