"""Failed webhooks are sent again in the background, a workspace's at a time."""

import django.db.models.deletion
from django.db import migrations, models

import engage.database.object_ids


class Migration(migrations.Migration):
    dependencies = [
        ("engage", "0007_checks_of_the_bridge"),
        ("journeys", "0026_who_stands_at_a_step"),
    ]

    operations = [
        migrations.CreateModel(
            name="Resending",
            fields=[
                (
                    "id",
                    engage.database.object_ids.ObjectIdField(
                        default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="engage.workspace"
                    ),
                ),
                ("asked_by", models.CharField(max_length=150)),
                ("asked_at", models.DateTimeField()),
                ("host", models.CharField(blank=True, max_length=260)),
                ("status", models.PositiveIntegerField(help_text="Of the last answer; 0: none came.", null=True)),
                ("journey_id", models.CharField(blank=True, max_length=24)),
                ("since", models.DateTimeField(null=True)),
                ("before", models.DateTimeField()),
                ("total", models.PositiveIntegerField(help_text="How many there were when it was asked for.")),
                ("looked_at", models.PositiveIntegerField(default=0)),
                ("sent", models.PositiveIntegerField(default=0)),
                ("place_at", models.DateTimeField(null=True)),
                ("place_id", models.BigIntegerField(default=0)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)), fields=["id"], name="resending_open"
                    )
                ],
            },
        ),
        migrations.AlterField(
            model_name="webhookdelivery",
            name="due_at",
            field=models.DateTimeField(help_text="When the next attempt is due; of one that has ended, when it did."),
        ),
    ]
