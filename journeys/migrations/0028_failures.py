"""What failed is found without looking through all that went well."""

from django.db import migrations, models
from django.db.models import Q

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0027_resending")]

    operations = [
        AddIndexConcurrently(
            model_name="webhookdelivery",
            index=models.Index(
                condition=Q(("state", "failed"), Q(("attempts__gt", 0), ("state", "waiting")), _connector="OR"),
                fields=["due_at", "id"],
                name="delivery_failing",
            ),
        ),
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(
                condition=Q(exit_reason__startswith="Given up after "),
                fields=["ended_at", "id"],
                name="enrollment_given_up",
            ),
        ),
    ]
