"""What is made of a webhook's answer. The version before writes none of it, and reads no answer."""

from django.db import migrations, models

# As before, but null where a source is left alone for good, until staff have it tried again: its circuit is open until
# the year 9999.
NEXT_ATTEMPT = """
    CREATE OR REPLACE FUNCTION journeys_next_attempt(
        its_workspace varchar, its_host varchar, its_source varchar, due timestamptz
    ) RETURNS timestamptz STABLE LANGUAGE sql AS $$
        SELECT CASE WHEN NOT EXISTS (
            SELECT FROM journeys_steeredhost steered
            WHERE steered.workspace_id = its_workspace AND steered.host = its_host AND steered.held_at IS NOT NULL
        ) THEN nullif(greatest(
            due,
            (SELECT open_until FROM journeys_webhookhost known
             WHERE known.workspace_id = its_workspace AND known.host = its_host),
            (SELECT open_until FROM journeys_webhookcircuit known
             WHERE known.workspace_id = its_workspace AND known.host = its_host AND known.source = its_source)
        ), '9999-01-01T00:00:00Z'::timestamptz) END
    $$;
"""


class Migration(migrations.Migration):
    dependencies = [("journeys", "0047_connections")]

    operations = [
        migrations.AddField(
            model_name="webhookdelivery",
            name="give_up_at",
            field=models.DateTimeField(
                help_text="No attempt begins later; unset: the ladder's end decides.", null=True
            ),
        ),
        migrations.AddField(
            model_name="webhookdelivery",
            name="answer_rules",
            field=models.JSONField(help_text="When an answer is ok, and what to keep of it.", null=True),
        ),
        migrations.AddField(
            model_name="webhookdelivery",
            name="kept_answer",
            field=models.JSONField(help_text="What was kept of the last answer, for later steps.", null=True),
        ),
        migrations.RunSQL(NEXT_ATTEMPT, migrations.RunSQL.noop),
    ]
