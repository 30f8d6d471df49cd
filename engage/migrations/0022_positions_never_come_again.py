"""Positions are drawn from the clock (engage/database/positions.py). What the version before draws from sequences is lifted
behind them by the database, so that both may number beside each other.
"""

from django.db import migrations

# Of all that one statement numbers, by its snapshot and in its order: `%` keeps that, and nobody far from the clock.
FEED = """
CREATE FUNCTION engage_feed_position_is_lifted() RETURNS trigger STABLE LANGUAGE plpgsql AS $$
BEGIN
    NEW.position := NEW.position % 65536 + greatest(
        (extract(epoch FROM statement_timestamp()) * 1000000)::bigint, (
            SELECT max(position) + 1 FROM engage_feedbatch WHERE workspace_id = NEW.workspace_id
        )
    );
    RETURN NEW;
END
$$;
CREATE TRIGGER engage_feed_position_is_lifted BEFORE INSERT OR UPDATE OF position ON engage_feedbatch
FOR EACH ROW WHEN (NEW.position < 1000000000000000) EXECUTE FUNCTION engage_feed_position_is_lifted();
"""
_BEFORE = """
CREATE OR REPLACE FUNCTION engage_audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.kept_until <= statement_timestamp() THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.position IS NULL AND to_jsonb(NEW) - 'position' = to_jsonb(OLD) - 'position' THEN
        {lift}RETURN NEW;
    END IF;
    RAISE EXCEPTION 'An entry of the audit is not changed, and not deleted before its time.'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;
"""
_LIFT = """IF NEW.position < 100000000 THEN
            NEW.position := greatest(floor(extract(epoch FROM clock_timestamp()))::bigint - 1577836800, (
                SELECT max(position) + 1 FROM engage_auditentry WHERE workspace_id = NEW.workspace_id
            ));
        END IF;
        """


class Migration(migrations.Migration):
    dependencies = [("engage", "0021_whom_alerts_tell")]

    operations = [
        migrations.RunSQL(
            FEED,
            "DROP TRIGGER engage_feed_position_is_lifted ON engage_feedbatch; "
            "DROP FUNCTION engage_feed_position_is_lifted()",
        ),
        migrations.RunSQL(_BEFORE.replace("{lift}", _LIFT), _BEFORE.replace("{lift}", "")),
    ]
