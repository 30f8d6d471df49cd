"""What the journey was when a draft began. The version before leaves it out, and goes by the revision."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0074_erased_aliases")]

    operations = [
        migrations.AddField(
            model_name="journeydraft",
            name="began_from",
            field=models.CharField(
                help_text="What the journey was then (mark_of); unset: as the revision says.", max_length=64, null=True
            ),
        ),
        migrations.AlterField(
            model_name="journeydraft",
            name="version",
            field=models.PositiveIntegerField(default=1, help_text="Another each time it is written, by chance."),
        ),
    ]
