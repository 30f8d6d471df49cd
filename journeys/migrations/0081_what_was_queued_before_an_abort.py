"""What was queued before a journey was aborted enters nobody, also once it is opened again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0080_zones_of_jobs")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="aborted_serial",
            field=models.BigIntegerField(editable=False, null=True),
        ),
    ]
