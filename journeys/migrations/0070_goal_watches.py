"""Whose goals are watched, and which of them were reached."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import engage.database.object_ids
import engage.database.tenancy

_KINDS = [
    ("entry", "Entry"),
    ("edge", "Edge"),
    ("end", "End"),
    ("event", "Event"),
    ("inapp", "Inapp"),
    ("goal", "Goal"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0016_watched"),
        ("engage", "0014_member_accounts"),
        ("journeys", "0069_goals_of_journeys"),
    ]

    operations = [
        migrations.AlterField("count", "kind", models.CharField(choices=_KINDS, max_length=5)),
        migrations.AlterField("countdelta", "kind", models.CharField(choices=_KINDS, max_length=5)),
        migrations.CreateModel(
            name="GoalWatch",
            fields=[
                (
                    "id",
                    engage.database.object_ids.ObjectIdField(
                        default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False
                    ),
                ),
                ("journey_id", models.CharField(max_length=24)),
                ("revision_id", models.BigIntegerField()),
                ("enrollment_id", models.CharField(max_length=24, null=True)),
                (
                    "goal",
                    models.CharField(
                        help_text="Its key. What it wants of the event, the journey says.", max_length=100
                    ),
                ),
                ("event_name", models.CharField(max_length=255)),
                ("until", models.DateTimeField()),
                ("reached_at", models.DateTimeField(null=True)),
                (
                    "counted",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100),
                        default=list,
                        help_text="As what it was counted.",
                        size=None,
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="customers.customer",
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
                "verbose_name_plural": "goal watches",
                "default_permissions": (),
                "indexes": [models.Index(fields=["customer", "event_name"], name="goal_by_customer")],
                "constraints": [
                    models.UniqueConstraint(fields=("enrollment_id", "goal"), name="goal_of_enrollment"),
                    engage.database.tenancy.WorkspaceForeignKey(
                        field="customer", name="goal_customer", on_delete="CASCADE", table="customers_customer"
                    ),
                ],
            },
        ),
    ]
