"""Chunks are found workspace by workspace. The version before has the same index to search; it then sorts what it finds."""

from django.db import migrations, models

from engage.database.repeatable import (AddIndexConcurrently, RemoveIndexConcurrently,)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0018_what_decisions_rest_on")]

    operations = [
        AddIndexConcurrently(
            model_name="chunk",
            index=models.Index(fields=["lane", "workspace", "turn_at"], name="chunk_in_turn"),
        ),
        RemoveIndexConcurrently(model_name="chunk", name="chunk_by_turn"),
    ]
