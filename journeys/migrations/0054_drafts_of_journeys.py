"""Drafts of journeys, which the version before does not know: it publishes nothing, and they wait."""

import django.db.models.deletion
from django.db import migrations, models

import engage.database.tenancy
import journeys.models.credentials


class Migration(migrations.Migration):
    dependencies = [("engage", "0017_workspaces_with_a_feed"), ("journeys", "0053_decisions_are_told")]

    operations = [
        migrations.CreateModel(
            name="JourneyDraft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("revision", models.PositiveIntegerField(help_text="The revision that it began from.")),
                ("version", models.PositiveIntegerField(default=1, help_text="How many times it was written.")),
                ("steps", journeys.models.credentials.StepsField(default=list)),
                ("exit_on", models.JSONField(default=list)),
                ("entry_conditions", models.JSONField(null=True)),
                ("key_order", models.JSONField(default=list)),
                ("written_by", models.CharField(max_length=200)),
                ("updated_at", models.DateTimeField()),
                (
                    "journey",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="draft",
                        to="journeys.journey",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="engage.workspace",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    engage.database.tenancy.WorkspaceForeignKey(
                        name="draft_journey", field="journey", table="journeys_journey", on_delete="CASCADE"
                    )
                ],
            },
        ),
    ]
