"""The database refuses every row that links two workspaces, and an enrollment may outlive its job.

The tables may be large and in use: indexes are made beside the traffic, and foreign keys hold for new rows at once and
are then checked for the old ones without holding anybody up. So this is no one transaction; each step may be repeated,
and what a killed run has left undone is done by the next.

Jobs come in thousands, and a foreign key would look at their one trigger anew for each of them: two fifths of the time
that a large call takes. And there can be none to the customer, because a job outlives an erased one. So what foreign
keys would refuse is refused by a trigger of the database, once per statement. It looks customers up one by one: a plan
that joins would be kept, and would fit only the number of jobs that it was made for. The deletion of a trigger takes
its jobs along, as before. What a job refers to never changes, and no customer moves to another workspace.
"""

import django.db.models.deletion
from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations, models

from engage.database.repeatable import (AddConstraintNotValid, AddUniqueConcurrently, RemoveConstraint, RemoveIndexConcurrently,)
from engage.database.tenancy import WorkspaceForeignKey


def foreign_key(model_name, constraint):
    return AddConstraintNotValid(model_name, constraint), ValidateConstraint(model_name, constraint.name)


REFUSE = """
    CREATE OR REPLACE FUNCTION journeys_hold_jobs_together() RETURNS trigger LANGUAGE plpgsql AS $$
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
    CREATE OR REPLACE TRIGGER job_refers_to_its_workspace
    AFTER INSERT ON journeys_enrollmentjob REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION journeys_hold_jobs_together();

    CREATE OR REPLACE FUNCTION journeys_delete_jobs_of_triggers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM journeys_enrollmentjob WHERE trigger_id = ANY (ARRAY(SELECT id FROM gone));
        RETURN NULL;
    END
    $$;
    CREATE OR REPLACE TRIGGER trigger_takes_its_jobs_along
    AFTER DELETE ON journeys_trigger REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION journeys_delete_jobs_of_triggers();

    CREATE OR REPLACE FUNCTION journeys_refuse_a_move() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE foreign_key_violation USING
            MESSAGE = 'jobs and triggers never change hands, and customers stay in their workspace',
            TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
    END
    $$;
    CREATE OR REPLACE TRIGGER job_stays
    BEFORE UPDATE OF workspace_id, journey_id, customer_id, trigger_id ON journeys_enrollmentjob
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.journey_id, OLD.customer_id, OLD.trigger_id)
        IS DISTINCT FROM (NEW.workspace_id, NEW.journey_id, NEW.customer_id, NEW.trigger_id)
    ) EXECUTE FUNCTION journeys_refuse_a_move();
    CREATE OR REPLACE TRIGGER trigger_stays
    BEFORE UPDATE OF workspace_id, journey_id, id ON journeys_trigger
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.journey_id, OLD.id) IS DISTINCT FROM (NEW.workspace_id, NEW.journey_id, NEW.id)
    ) EXECUTE FUNCTION journeys_refuse_a_move();
    CREATE OR REPLACE TRIGGER customer_stays
    BEFORE UPDATE OF workspace_id, id ON customers_customer
    FOR EACH ROW WHEN ((OLD.workspace_id, OLD.id) IS DISTINCT FROM (NEW.workspace_id, NEW.id))
    EXECUTE FUNCTION journeys_refuse_a_move();
"""

ALLOW = """
    DROP TRIGGER IF EXISTS customer_stays ON customers_customer;
    DROP TRIGGER IF EXISTS trigger_stays ON journeys_trigger;
    DROP TRIGGER IF EXISTS job_stays ON journeys_enrollmentjob;
    DROP FUNCTION IF EXISTS journeys_refuse_a_move();
    DROP TRIGGER IF EXISTS trigger_takes_its_jobs_along ON journeys_trigger;
    DROP FUNCTION IF EXISTS journeys_delete_jobs_of_triggers();
    DROP TRIGGER IF EXISTS job_refers_to_its_workspace ON journeys_enrollmentjob;
    DROP FUNCTION IF EXISTS journeys_hold_jobs_together();
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
        AddUniqueConcurrently(
            "journeyrevision",
            models.UniqueConstraint(fields=["workspace", "journey", "id"], name="revision_in_journey"),
        ),
        AddUniqueConcurrently(
            "enrollmentjob", models.UniqueConstraint(fields=["workspace", "id"], name="job_in_workspace")
        ),
        *foreign_key(
            "enrollment",
            WorkspaceForeignKey(
                name="enrollment_revision_and_journey",
                field="revision",
                table="journeys_journeyrevision",
                on_delete="CASCADE",
                within=["journey"],
            ),
        ),
        *foreign_key(
            "enrollment",
            WorkspaceForeignKey(
                name="enrollment_job", field="job", table="journeys_enrollmentjob", on_delete="SET NULL"
            ),
        ),
        migrations.RunSQL(REFUSE, ALLOW),
        # What the new ones stand in for.
        RemoveConstraint(model_name="enrollment", name="enrollment_revision"),
        RemoveConstraint(model_name="enrollmentjob", name="job_trigger"),
        RemoveConstraint(model_name="journeyrevision", name="revision_in_workspace"),
        RemoveIndexConcurrently(model_name="enrollmentjob", name="job_by_workspace"),
    ]
