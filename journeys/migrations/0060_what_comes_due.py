"""Which scheduled chunks are due."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0059_expiring_triggers")]

    operations = [
        AddIndexConcurrently(
            model_name="chunk",
            index=models.Index(condition=models.Q(("lane", "scheduled")), fields=["due_at"], name="chunk_scheduled"),
        ),
    ]
