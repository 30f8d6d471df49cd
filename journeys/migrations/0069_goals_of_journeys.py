"""A journey may say what it is for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0068_journeys_that_move")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="goals",
            field=models.JSONField(
                blank=True, null=True, help_text="What it is for, as events; unset: none."
            ),
        ),
    ]
