"""A walker's claim changes nothing that is indexed, and a page of enrollments is filled to a half, to have room for it.

Where a claim's version fits on the same page, PostgreSQL leaves all eight indexes alone. The version before moves
`due_at` to claim, and each of both leaves alone what the other has claimed.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0036_written_order_and_staff_triggers")]

    operations = [
        migrations.AddField(
            model_name="enrollment",
            name="claimed_until",
            field=models.DateTimeField(
                editable=False,
                help_text="Set while a walker has it; once that is past, the walker has died.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="enrollment",
            name="attempts",
            field=models.PositiveIntegerField(
                default=0, help_text="How often going on failed since it last went well."
            ),
        ),
        migrations.RunSQL(
            "ALTER TABLE journeys_enrollment SET (fillfactor = 50)",
            "ALTER TABLE journeys_enrollment RESET (fillfactor)",
        ),
    ]
