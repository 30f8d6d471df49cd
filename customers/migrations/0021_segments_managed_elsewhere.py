"""A segment may come from a repository."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("customers", "0020_identifiers_by_beginning")]

    operations = [
        migrations.AddField(
            model_name="segment",
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
