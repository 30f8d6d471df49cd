"""Whether an enrollment entered in a crowd, for the walkers' turns. The version before enters nobody in a crowd."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0021_serial_of_a_trigger")]

    operations = [
        migrations.AddField(
            model_name="enrollment",
            name="crowd",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether it entered with many others, by a large call or many events; "
                "a crowd lets others go first.",
            ),
        ),
    ]
