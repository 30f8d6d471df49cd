"""What a step's event is, in the admin; the database stays as it is."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("journeys", "0014_no_newline_after_keys"),
    ]

    operations = [
        migrations.AlterField(
            model_name="steprun",
            name="event",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                help_text="The event that it recorded, or that ended its wait.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                to="customers.event",
            ),
        ),
    ]
