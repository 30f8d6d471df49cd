"""Guards count entries, and counts tell of events that started nothing."""

from django.db import migrations, models

KINDS = [("entry", "Entry"), ("edge", "Edge"), ("end", "End"), ("event", "Event")]


class Migration(migrations.Migration):
    dependencies = [("journeys", "0049_give_up_webhooks")]

    operations = [
        migrations.AddField(
            model_name="guardedresults", name="entries", field=models.JSONField(db_default={}, default=dict)
        ),
        migrations.AlterField(
            model_name="journey",
            name="guards",
            field=models.JSONField(blank=True, help_text="When it holds itself.", null=True),
        ),
        migrations.AlterField("countdelta", "kind", models.CharField(choices=KINDS, max_length=5)),
        migrations.AlterField("count", "kind", models.CharField(choices=KINDS, max_length=5)),
    ]
