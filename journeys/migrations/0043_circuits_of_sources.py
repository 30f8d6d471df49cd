"""Each source of webhooks has a circuit of its own at a host. The version before keeps to those of hosts alone."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0042_due_by_source")]

    operations = [
        migrations.CreateModel(
            name="WebhookCircuit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("host", models.CharField(max_length=260)),
                ("source", models.CharField(max_length=150)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("open_until", models.DateTimeField(null=True)),
                ("last_failure", models.TextField(default="", help_text="What the latest one was, in words.")),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="engage.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "host", "source"), name="webhook_circuit")
                ],
            },
        ),
    ]
