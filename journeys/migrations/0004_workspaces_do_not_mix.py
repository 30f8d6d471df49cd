"""The database refuses every row that links two workspaces, and an enrollment may outlive its job.

The tables may be large and in use: indexes are made beside the traffic, and foreign keys hold for new rows at once and
are then checked for the old ones without holding anybody up. So nothing here is one transaction; each step may be
repeated by hand.

Jobs come in thousands, and a foreign key would look at their one trigger anew for each of them: two fifths of the time
that a large call takes. And there can be none to the customer, because a job outlives an erased one. So what foreign
keys would refuse is refused by a trigger of the database, once per statement. It looks customers up one by one: a plan
that joins would be kept, and would fit only the number of jobs that it was made for. The deletion of a trigger takes
its jobs along, as before. What a job refers to never changes, and no customer moves to another workspace.
"""

import django.db.models.deletion
from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from engage.tenancy import WorkspaceForeignKey


def unique(model_name, name, fields):
    table = f"journeys_{model_name}"
    columns = ", ".join(field if field == "id" else f"{field}_id" for field in fields)
    return migrations.SeparateDatabaseAndState(
        [
            migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop),
            migrations.RunSQL(f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON {table} ({columns})", migrations.RunSQL.noop),
            migrations.RunSQL(
                f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE USING INDEX {name}",
                f"ALTER TABLE {table} DROP CONSTRAINT {name}",
            ),
        ],
        [migrations.AddConstraint(model_name, models.UniqueConstraint(fields=fields, name=name))],
    )


def foreign_key(model_name, constraint):
    table = f"journeys_{model_name}"
    shared = ", ".join(["workspace_id", *(f"{name}_id" for name in constraint.within)])
    column = f"{constraint.field}_id"
    on_delete = f"SET NULL ({column})" if constraint.on_delete == "SET NULL" else constraint.on_delete
    return migrations.SeparateDatabaseAndState(
        [
            migrations.RunSQL(
                f"ALTER TABLE {table} ADD CONSTRAINT {constraint.name} FOREIGN KEY ({shared}, {column}) "
                f"REFERENCES {constraint.table} ({shared}, id) ON DELETE {on_delete} NOT VALID",
                f"ALTER TABLE {table} DROP CONSTRAINT {constraint.name}",
            ),
            migrations.RunSQL(f"ALTER TABLE {table} VALIDATE CONSTRAINT {constraint.name}", migrations.RunSQL.noop),
        ],
        [migrations.AddConstraint(model_name, constraint)],
    )


REFUSE = """
    CREATE FUNCTION journeys_hold_jobs_together() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (
            SELECT FROM (SELECT DISTINCT workspace_id, journey_id, trigger_id FROM fresh) AS job
            WHERE NOT EXISTS (
                SELECT FROM journeys_trigger sent
                WHERE sent.id = job.trigger_id AND sent.workspace_id = job.workspace_id
                  AND sent.journey_id = job.journey_id
                FOR KEY SHARE
            )
        ) THEN
            RAISE foreign_key_violation USING
                MESSAGE = 'a job names no trigger of its workspace and journey',
                TABLE = TG_TABLE_NAME, CONSTRAINT = 'job_trigger_and_journey';
        END IF;
        IF EXISTS (
            SELECT FROM fresh
            WHERE (SELECT workspace_id FROM customers_customer customer WHERE customer.id = fresh.customer_id)
                  <> fresh.workspace_id
        ) THEN
            RAISE foreign_key_violation USING
                MESSAGE = 'a job names a customer of another workspace',
                TABLE = TG_TABLE_NAME, CONSTRAINT = 'job_customer';
        END IF;
        RETURN NULL;
    END
    $$;
    CREATE TRIGGER job_refers_to_its_workspace
    AFTER INSERT ON journeys_enrollmentjob REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION journeys_hold_jobs_together();

    CREATE FUNCTION journeys_delete_jobs_of_triggers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM journeys_enrollmentjob WHERE trigger_id = ANY (ARRAY(SELECT id FROM gone));
        RETURN NULL;
    END
    $$;
    CREATE TRIGGER trigger_takes_its_jobs_along
    AFTER DELETE ON journeys_trigger REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION journeys_delete_jobs_of_triggers();

    CREATE FUNCTION journeys_refuse_a_move() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE foreign_key_violation USING
            MESSAGE = 'jobs and triggers never change hands, and customers stay in their workspace',
            TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
    END
    $$;
    CREATE TRIGGER job_stays
    BEFORE UPDATE OF workspace_id, journey_id, customer_id, trigger_id ON journeys_enrollmentjob
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.journey_id, OLD.customer_id, OLD.trigger_id)
        IS DISTINCT FROM (NEW.workspace_id, NEW.journey_id, NEW.customer_id, NEW.trigger_id)
    ) EXECUTE FUNCTION journeys_refuse_a_move();
    CREATE TRIGGER trigger_stays
    BEFORE UPDATE OF workspace_id, journey_id, id ON journeys_trigger
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.journey_id, OLD.id) IS DISTINCT FROM (NEW.workspace_id, NEW.journey_id, NEW.id)
    ) EXECUTE FUNCTION journeys_refuse_a_move();
    CREATE TRIGGER customer_stays
    BEFORE UPDATE OF workspace_id, id ON customers_customer
    FOR EACH ROW WHEN ((OLD.workspace_id, OLD.id) IS DISTINCT FROM (NEW.workspace_id, NEW.id))
    EXECUTE FUNCTION journeys_refuse_a_move();
"""

ALLOW = """
    DROP TRIGGER customer_stays ON customers_customer;
    DROP TRIGGER trigger_stays ON journeys_trigger;
    DROP TRIGGER job_stays ON journeys_enrollmentjob;
    DROP FUNCTION journeys_refuse_a_move();
    DROP TRIGGER trigger_takes_its_jobs_along ON journeys_trigger;
    DROP FUNCTION journeys_delete_jobs_of_triggers();
    DROP TRIGGER job_refers_to_its_workspace ON journeys_enrollmentjob;
    DROP FUNCTION journeys_hold_jobs_together();
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("customers", "0002_chain_of_events"),
        ("engage", "0001_initial"),
        ("journeys", "0003_history"),
    ]

    operations = [
        migrations.AlterField(
            model_name="enrollment",
            name="job",
            field=models.OneToOneField(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="enrollment",
                to="journeys.enrollmentjob",
            ),
        ),
        unique("journeyrevision", "revision_in_journey", ["workspace", "journey", "id"]),
        unique("enrollmentjob", "job_in_workspace", ["workspace", "id"]),
        foreign_key(
            "enrollment",
            WorkspaceForeignKey(
                name="enrollment_revision_and_journey",
                field="revision",
                table="journeys_journeyrevision",
                on_delete="CASCADE",
                within=["journey"],
            ),
        ),
        foreign_key(
            "enrollment",
            WorkspaceForeignKey(
                name="enrollment_job", field="job", table="journeys_enrollmentjob", on_delete="SET NULL"
            ),
        ),
        migrations.RunSQL(REFUSE, ALLOW),
        # What the new ones stand in for.
        migrations.RemoveConstraint(model_name="enrollment", name="enrollment_revision"),
        migrations.RemoveConstraint(model_name="enrollmentjob", name="job_trigger"),
        migrations.RemoveConstraint(model_name="journeyrevision", name="revision_in_workspace"),
        RemoveIndexConcurrently(model_name="enrollmentjob", name="job_by_workspace"),
    ]
