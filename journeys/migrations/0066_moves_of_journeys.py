"""Those inside a journey may be moved to a later revision. The version before begins no move, and knows of none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0065_journeys_managed_elsewhere")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="moves_to",
            field=models.PositiveIntegerField(
                editable=False,
                help_text="Until all who can have moved: the revision in which those inside go on.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="steeringact",
            name="kind",
            field=models.CharField(
                choices=[
                    ("hold", "Hold"),
                    ("resume", "Resume"),
                    ("close", "Close"),
                    ("activate", "Activate"),
                    ("abort", "Abort"),
                    ("cancel", "Cancel"),
                    ("move", "Move"),
                    ("hold_host", "Hold Host"),
                    ("release_host", "Release Host"),
                    ("rate_host", "Rate Host"),
                ],
                max_length=12,
            ),
        ),
    ]
