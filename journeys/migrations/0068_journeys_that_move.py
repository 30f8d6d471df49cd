"""Of which journeys those inside are being moved."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0067_moves_of_enrollments")]

    operations = [
        AddIndexConcurrently(
            model_name="journey",
            index=models.Index(condition=models.Q(("moves_to__isnull", False)), fields=["id"], name="journey_moving"),
        ),
    ]
