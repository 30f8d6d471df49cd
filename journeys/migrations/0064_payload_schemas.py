"""A journey may say what its payloads must be."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0063_trails")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="payload_schema",
            field=models.JSONField(
                blank=True,
                null=True,
                help_text="What its payloads must be; unset: anything.",
            ),
        ),
    ]
