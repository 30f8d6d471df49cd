"""A delivery knows by what its attempts ask whether it may be sent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0090_policy_of_steps")]

    operations = [
        migrations.AddField(
            model_name="webhookdelivery",
            name="contact",
            field=models.JSONField(
                help_text="By which its attempts ask whether it may be sent; unset: none do.",
                null=True,
            ),
        ),
    ]
