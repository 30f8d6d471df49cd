"""Journeys can be archived. The version before knows only that they are switched off, which they are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0032_lately")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="archived_at",
            field=models.DateTimeField(
                editable=False,
                help_text="An archived journey is hidden, and cannot be switched on.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="journey",
            constraint=models.CheckConstraint(
                condition=models.Q(("archived_at__isnull", True), ("active", False), _connector="OR"),
                name="journey_archived_inactive",
            ),
        ),
    ]
