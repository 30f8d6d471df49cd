"""A journey may hold out a share of those who might enter it. The version before lets them all in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0071_events_reach_goals")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="hold_out",
            field=models.JSONField(
                blank=True, null=True, help_text="The share that it holds out; unset: none."
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
                    ("expired", "Expired"),
                    ("held_out", "Held Out"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                max_length=20,
            ),
        ),
    ]
