"""Whatever makes a webhook wait, or due earlier, notes its host (journeys/engine/webhooks/due_hosts.py): also a version before,
which knows no notes. Those that wait already are noted by the first sender or sweep.
"""

from django.db import migrations

NOTE = """
CREATE OR REPLACE FUNCTION journeys_note_new_hosts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO journeys_hostdue (workspace_id, host, due_at)
    SELECT workspace_id, host, min(due_at) FROM added WHERE state = 'waiting' GROUP BY workspace_id, host;
    RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION journeys_note_host() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO journeys_hostdue (workspace_id, host, due_at) VALUES (NEW.workspace_id, NEW.host, NEW.due_at);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER new_deliveries_note_their_hosts AFTER INSERT ON journeys_webhookdelivery
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION journeys_note_new_hosts();
CREATE OR REPLACE TRIGGER earlier_deliveries_note_their_hosts AFTER UPDATE OF state, due_at, host
ON journeys_webhookdelivery FOR EACH ROW
WHEN (NEW.state = 'waiting' AND (OLD.state <> 'waiting' OR NEW.due_at < OLD.due_at OR NEW.host <> OLD.host))
EXECUTE FUNCTION journeys_note_host();
"""


class Migration(migrations.Migration):
    dependencies = [("journeys", "0085_hosts_at_which_webhooks_are_due")]

    operations = [
        migrations.RunSQL(
            NOTE,
            "DROP TRIGGER IF EXISTS new_deliveries_note_their_hosts ON journeys_webhookdelivery; "
            "DROP TRIGGER IF EXISTS earlier_deliveries_note_their_hosts ON journeys_webhookdelivery; "
            "DROP FUNCTION IF EXISTS journeys_note_new_hosts(); DROP FUNCTION IF EXISTS journeys_note_host()",
        ),
    ]
