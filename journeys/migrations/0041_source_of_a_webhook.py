"""What sends a webhook is noted with it. The version before writes none, so what it writes shares a circuit."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0040_erased_between_two_steps")]

    operations = [
        migrations.AddField(
            model_name="webhookdelivery",
            name="source",
            field=models.CharField(
                db_default="",
                default="",
                help_text="What sends there, which has a circuit of its own; empty: "
                "not known.",
                max_length=150,
            ),
        ),
    ]
