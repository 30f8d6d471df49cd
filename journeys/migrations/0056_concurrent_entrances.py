"""Whether a journey's entrances count apart. The version before counts them together."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0055_entrances_of_enrollments")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="concurrent_entrances",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="May a customer be inside once for each entrance? The two rules before then count for each "
                "apart.",
            ),
        ),
        migrations.AlterField(
            model_name="enrollmentjob",
            name="result",
            field=models.CharField(
                blank=True,
                choices=[
                    ("enrolled", "Enrolled"),
                    ("already_enrolled", "Already Enrolled"),
                    ("max_entries_reached", "Max Entries Reached"),
                    ("conditions_not_met", "Conditions Not Met"),
                    ("journey_inactive", "Journey Inactive"),
                    ("customer_deleted", "Customer Deleted"),
                    ("duplicate_entrance", "Duplicate Entrance"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                max_length=20,
            ),
        ),
    ]
