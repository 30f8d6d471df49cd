"""Those who stand at a step of a journey are found by it."""

from django.db import migrations, models
from django.db.models import Q

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0025_counts")]

    operations = [
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(
                fields=["journey", "step_id", "id"],
                condition=Q(step_began_at__isnull=False),
                name="enrollment_by_step",
            ),
        ),
    ]
