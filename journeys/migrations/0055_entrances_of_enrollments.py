"""An enrollment may count for one of its customer's entrances. The version before writes none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0054_drafts_of_journeys")]

    operations = [
        migrations.AddField(
            model_name="enrollment",
            name="entrance",
            field=models.CharField(editable=False, max_length=128, null=True),
        ),
    ]
