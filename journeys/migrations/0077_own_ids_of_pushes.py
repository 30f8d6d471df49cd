"""A push is known by an id of its own: a sequence gives its numbers again after a failover. What waits keeps its own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0076_erased_while_inside_are_told")]

    operations = [
        migrations.AddField(
            model_name="push", name="own_id", field=models.CharField(editable=False, max_length=24, null=True)
        ),
    ]
