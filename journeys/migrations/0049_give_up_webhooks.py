"""Which webhooks have waited for too long is found along an index."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0048_answers_of_webhooks")]

    operations = [
        AddIndexConcurrently(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("give_up_at__isnull", False), ("state", "waiting")),
                fields=["give_up_at"],
                name="delivery_give_up",
            ),
        ),
    ]
