"""Who was held out of a journey, or let in, stays so."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import engage.database.tenancy


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0016_watched"),
        ("engage", "0014_member_accounts"),
        ("journeys", "0072_hold_outs_of_journeys"),
    ]

    operations = [
        migrations.CreateModel(
            name="Draw",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("journey_id", models.CharField(max_length=24)),
                ("held_out", models.BooleanField()),
                ("drawn_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("customer", "journey_id"), name="drawn_once"),
                    engage.database.tenancy.WorkspaceForeignKey(
                        field="customer", name="draw_customer", on_delete="CASCADE", table="customers_customer"
                    ),
                ],
            },
        ),
    ]
