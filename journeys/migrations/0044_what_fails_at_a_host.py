"""A host's own circuit opens when several sources fail or no connection is made; and when a webhook is tried next."""

import django.contrib.postgres.fields
from django.db import migrations, models

NEXT_ATTEMPT = """
    CREATE OR REPLACE FUNCTION journeys_next_attempt(
        its_workspace varchar, its_host varchar, its_source varchar, due timestamptz
    ) RETURNS timestamptz STABLE LANGUAGE sql AS $$
        SELECT CASE WHEN NOT EXISTS (
            SELECT FROM journeys_steeredhost steered
            WHERE steered.workspace_id = its_workspace AND steered.host = its_host AND steered.held_at IS NOT NULL
        ) THEN greatest(
            due,
            (SELECT open_until FROM journeys_webhookhost known
             WHERE known.workspace_id = its_workspace AND known.host = its_host),
            (SELECT open_until FROM journeys_webhookcircuit known
             WHERE known.workspace_id = its_workspace AND known.host = its_host AND known.source = its_source)
        ) END
    $$;
"""


class Migration(migrations.Migration):
    dependencies = [("journeys", "0043_circuits_of_sources")]

    operations = [
        migrations.AddField(
            model_name="webhookhost",
            name="failing_sources",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=150), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="webhookhost",
            name="last_failure",
            field=models.TextField(db_default="", default="", help_text="What the latest one was, in words."),
        ),
        migrations.AddField(
            model_name="webhookhost",
            name="probed_source",
            field=models.CharField(db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="webhookhost",
            name="unconnected",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.RunSQL(
            NEXT_ATTEMPT, "DROP FUNCTION IF EXISTS journeys_next_attempt(varchar, varchar, varchar, timestamptz)"
        ),
    ]
