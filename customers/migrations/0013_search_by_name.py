"""Customers get the names that their attributes say, and are found by names and e-mail addresses, in any case.

By parts of them where the database has pg_trgm or lets this role make it; by how they begin otherwise. docs/operations.md
tells how to get there later.
"""

from typing import Any

from django.db import ProgrammingError, migrations
from psycopg.errors import InsufficientPrivilege

from engage.database.repeatable import index_exists

PAGE = 5_000
NAME = """
    WITH page AS (
        SELECT id FROM customers_customer WHERE id > %s ORDER BY id LIMIT %s
    ), unnamed AS (
        SELECT id FROM customers_customer WHERE id = ANY(ARRAY(SELECT id FROM page)) AND name IS NULL
          AND customers_name_in(attributes, claimed_attributes) IS NOT NULL
        ORDER BY id FOR NO KEY UPDATE
    ), named AS (
        UPDATE customers_customer SET name = customers_name_in(attributes, claimed_attributes)
        WHERE id = ANY(ARRAY(SELECT id FROM unnamed))
    )
    SELECT max(id) FROM page
"""
BY_PART = (
    "CREATE INDEX CONCURRENTLY customer_by_part ON customers_customer "
    "USING gin (lower(name) {schema}.gin_trgm_ops, lower(email) {schema}.gin_trgm_ops)"
)
BY_BEGINNING = {
    # Not the address as it is: that is looked up by other indexes, which the planner might leave for this one.
    "customer_by_name": "(lower(name) text_pattern_ops) WHERE name IS NOT NULL",
    "customer_by_address": "(lower(email) text_pattern_ops) WHERE email IS NOT NULL",
}
MADE = "SELECT relname FROM pg_class WHERE relkind = 'i' AND relname = ANY(%s) ORDER BY relname"
AVAILABLE = "SELECT true FROM pg_available_extensions WHERE name = 'pg_trgm'"
SCHEMA = "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_trgm'"


def name_customers(apps: Any, schema_editor: Any) -> None:
    last = ""
    while last is not None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(NAME, [last, PAGE])
            (last,) = cursor.fetchone()


def make_indexes(apps: Any, schema_editor: Any) -> None:
    if schema := _schema_of_trigrams(schema_editor):
        if not index_exists(schema_editor, "customer_by_part"):
            schema_editor.execute(BY_PART.format(schema=schema))
        return
    for name, what in BY_BEGINNING.items():
        if not index_exists(schema_editor, name):
            schema_editor.execute(f"CREATE INDEX CONCURRENTLY {name} ON customers_customer {what}")


def drop_indexes(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(MADE, [["customer_by_part", *BY_BEGINNING]])
        made = cursor.fetchall()
    for [name] in made:
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def _schema_of_trigrams(schema_editor: Any) -> str | None:
    """Where pg_trgm is, which is made if that is possible; None where it is not."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(SCHEMA)
        if (found := cursor.fetchone()) is None:
            cursor.execute(AVAILABLE)
            if cursor.fetchone() is None:
                return None
            try:
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            except ProgrammingError as error:
                if isinstance(error.__cause__, InsufficientPrivilege):
                    return None
                raise
            cursor.execute(SCHEMA)
            found = cursor.fetchone()
        return found and str(found[0])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("customers", "0012_names")]

    operations = [
        migrations.RunPython(name_customers, migrations.RunPython.noop, elidable=True),
        migrations.RunPython(make_indexes, drop_indexes),
    ]
