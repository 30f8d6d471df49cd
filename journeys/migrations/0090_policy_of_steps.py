"""The history tells what the contact policy said to a message. The version before asks nobody."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0089_topics_of_journeys")]

    operations = [
        migrations.AddField(
            model_name="steprun",
            name="policy",
            field=models.JSONField(
                help_text="What the contact policy said to a message, where it was asked.",
                null=True,
            ),
        ),
    ]
