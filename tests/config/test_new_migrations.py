"""A migration that is newer than the last release runs beside its calls and workers, and holds none of them up."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.support.watched_migrations import watching

RELEASED = [(app, "0001_version_1_0_0") for app in ("bridge", "customers", "engage", "journeys")]


@pytest.mark.without_pooler
def test_each_new_migration(own_database: None) -> None:
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes()
    others = [target for target in targets if target[0] not in dict(RELEASED)]
    state = executor.migrate([*RELEASED, *others])
    executor.loader.build_graph()
    objections = []
    for migration, _backwards in executor.migration_plan(targets):
        with watching(is_one_transaction=migration.atomic) as watch:
            state = executor.apply_migration(state, migration)
        objections += [f"{migration} {objection}" for objection in watch.objections()]
    assert not objections, "CONTRIBUTING.md, Migrations: " + "; ".join(objections)


ADD = "ALTER TABLE customers_customer ADD COLUMN shoe"
TRIGGER = """
CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER does_nothing BEFORE INSERT ON journeys_chunk FOR EACH ROW EXECUTE FUNCTION nothing()
"""


@pytest.mark.parametrize(
    "statements",
    [
        f"{ADD} text",
        f"{ADD} text NOT NULL DEFAULT '', ADD COLUMN hat text",
        f"{ADD} text; ALTER TABLE customers_customer ADD CHECK (length(shoe) < 9) NOT VALID",
        TRIGGER,
        "CREATE TABLE x (a text REFERENCES customers_event, b text REFERENCES engage_workspace); CREATE INDEX ON x (b)",
        "CREATE INDEX ON journeys_journey (name)",
        "UPDATE journeys_journey SET name = 'new'",
    ],
)
def test_what_is_allowed(db: None, statements: str) -> None:
    assert objections_to(statements) == []


@pytest.mark.parametrize(
    ("statements", "objection"),
    [
        (f"{ADD} text; ALTER TABLE journeys_trigger ADD COLUMN shoe text", "locks customers_customer and journeys_tr"),
        ("CREATE TABLE x (a text REFERENCES customers_customer, b text REFERENCES journeys_enrollment)", "locks custo"),
        ("CREATE INDEX ON customers_event (name)", "reads customers_event while it locks customers_event"),
        (f"{ADD} int CHECK (shoe > 0)", "reads customers_customer while"),
        ("ALTER TABLE customers_event ADD CHECK (name <> '')", "reads customers_event while"),
        (f"{ADD} text; ALTER TABLE customers_customer ALTER shoe SET NOT NULL", "reads customers_customer while"),
        ("ALTER TABLE customers_alias ADD FOREIGN KEY (customer_id) REFERENCES customers_customer", "reads customers"),
        (f"{ADD} text; SELECT count(*) FROM customers_event", "reads customers_event while it locks customers_custo"),
        ("ALTER TABLE journeys_journey ADD COLUMN x text; SELECT FROM customers_event", "while it locks journeys_jour"),
        ("ALTER TABLE customers_event ADD COLUMN shoe uuid DEFAULT gen_random_uuid()", "rewrites customers_event"),
        ("UPDATE customers_customer SET attributes = '{}'", "writes customers_customer"),
        (
            "ALTER TABLE journeys_journey ALTER name TYPE varchar(900)",
            "journeys_journey.name character varying(900), wh",
        ),
        ("ALTER TABLE journeys_journey DROP COLUMN name", "takes journeys_journey.name away"),
        ("ALTER TABLE journeys_journey ADD COLUMN shoe text NOT NULL", "wants journeys_journey.shoe"),
        ("ALTER TABLE journeys_journey ALTER aborted_at SET NOT NULL", "wants journeys_journey.aborted_at"),
    ],
)
def test_what_is_refused(db: None, statements: str, objection: str) -> None:
    assert objection in "; ".join(objections_to(statements))


def objections_to(statements: str) -> list[str]:
    with watching() as watch, connection.cursor() as cursor:
        for statement in [statements] if statements is TRIGGER else statements.split("; "):
            cursor.execute(statement)
    return watch.objections()
