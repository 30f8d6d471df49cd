"""The walker's claim of enrollments that were tried before need not read all that are due."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("journeys", "0004_workspaces_do_not_mix"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(
                fields=["due_at"], condition=models.Q(state="active", attempts__gt=0), name="enrollment_tried"
            ),
        ),
    ]
