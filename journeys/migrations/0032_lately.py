"""What was counted in the last hours is found without reading what was counted since ever."""

from django.db import migrations, models
from django.db.models import Q

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0031_batches_in_the_admin")]

    operations = [
        AddIndexConcurrently(
            model_name="count",
            index=models.Index(
                condition=Q(("grain", "hour"), ("kind__in", ["entry", "end"])),
                fields=["begin", "journey"],
                name="count_by_hour",
            ),
        ),
    ]
