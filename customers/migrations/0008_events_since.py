"""A customer's events since one of them are looked up by key."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("customers", "0007_serials"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                fields=["customer", "serial"], condition=models.Q(serial__isnull=False), name="event_by_serial"
            ),
        ),
    ]
