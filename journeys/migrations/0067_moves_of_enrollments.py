"""An enrollment knows by which moves it came to its revision. The version before walks it in that one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0066_moves_of_journeys")]

    operations = [
        migrations.AddField(
            model_name="enrollment",
            name="moves",
            field=models.JSONField(editable=False, null=True),
        ),
    ]
