"""An interaction's event is of its own workspace; where the event is pruned, the interaction loses it."""

from django.db import migrations, models

import engage.database.tenancy
from engage.database.repeatable import (AddConstraint, AddIndexConcurrently,)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("bridge", "0001_initial"),
        ("customers", "0002_chain_of_events"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="interaction",
            index=models.Index(
                condition=models.Q(("event__isnull", False)), fields=["event"], name="interaction_by_event"
            ),
        ),
        AddConstraint(
            model_name="interaction",
            constraint=engage.database.tenancy.WorkspaceForeignKey(
                field="event", name="interaction_event", on_delete="SET NULL", table="customers_event"
            ),
        ),
    ]
