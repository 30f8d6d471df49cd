"""A journey may come from a repository."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0064_payload_schemas")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="managed_by",
            field=models.CharField(
                blank=True,
                editable=False,
                help_text="Where it comes from, such as git:acme/journeys; staff are asked before they save over it.",
                max_length=200,
                null=True,
            ),
        ),
    ]
