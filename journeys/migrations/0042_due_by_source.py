"""Where a source is left alone, a sender's claim reads what is due source by source."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0041_source_of_a_webhook")]

    operations = [
        AddIndexConcurrently(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["workspace", "host", "source", "due_at"],
                name="delivery_due_by_source",
            ),
        ),
    ]
