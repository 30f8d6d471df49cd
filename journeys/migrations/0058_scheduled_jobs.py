"""A job may be scheduled. The version before writes none, and serves no chunk of one before it is due."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0057_who_holds_an_entrance")]

    operations = [
        migrations.AddField(
            model_name="enrollmentjob",
            name="scheduled_for",
            field=models.DateTimeField(help_text="When it is due.", null=True),
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
                    ("expired", "Expired"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                max_length=20,
            ),
        ),
    ]
