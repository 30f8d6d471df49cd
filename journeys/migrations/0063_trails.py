"""A trigger keeps its caller's traceparent, if there is one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0062_subscriptions")]

    operations = [
        migrations.AddField(
            model_name="trigger",
            name="traceparent",
            field=models.CharField(
                editable=False, help_text="The caller's, sent on to receivers of webhooks.", max_length=55, null=True
            ),
        ),
    ]
