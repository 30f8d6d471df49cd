"""Counts by the hour are found by their time, to be pruned."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0086_due_hosts_are_noted")]

    operations = [
        AddIndexConcurrently(
            model_name="count",
            index=models.Index(condition=models.Q(("grain", "hour")), fields=["begin"], name="count_of_hours"),
        ),
    ]
