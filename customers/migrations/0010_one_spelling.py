"""Identifiers are respelled as calls are read from now on: in NFC, and e-mail addresses with their domain in ASCII.

Where two customers of a workspace would then have the same, both stay as they are; `manage.py doctor` counts them.
"""

from typing import Any

from django.db import migrations

from customers.identifier_rules import comparable_email

# What is ASCII has one spelling only, and is told by its length alone.
UNUSUAL = "octet_length({column}) > char_length({column})"
COMPOSED = f"""
    SELECT id, workspace_id, normalize({{column}}, NFC) AS respelled FROM customers_customer
    WHERE {UNUSUAL} AND {{column}} IS NOT NFC NORMALIZED
"""
ADDRESSES = f"SELECT id, workspace_id, email FROM customers_customer WHERE {UNUSUAL.format(column='email')}"
ASCII = "SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]) AS address (id, workspace_id, respelled)"
RESPELL = """
    WITH old AS ({old}), counted AS (
        SELECT old.*, count(*) OVER (PARTITION BY workspace_id, respelled) AS alike FROM old
    )
    UPDATE customers_customer customer SET {column} = counted.respelled
    FROM counted
    WHERE customer.id = ANY(ARRAY[counted.id]) AND alike = 1 AND char_length(respelled) <= {longest} AND NOT EXISTS (
        SELECT FROM customers_customer other
        WHERE other.workspace_id = counted.workspace_id AND other.{column} = counted.respelled
    )
"""


def respell(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for column, longest in (("external_id", 255), ("phone", 64), ("user_id", 255)):
            old = COMPOSED.format(column=column)
            cursor.execute(RESPELL.format(old=old, column=column, longest=longest))
        cursor.execute(ADDRESSES)
        found = cursor.fetchall()
        ids, workspaces = [row[0] for row in found], [row[1] for row in found]
        addresses = [comparable_email(row[2]) for row in found]
        cursor.execute(RESPELL.format(old=ASCII, column="email", longest=254), [ids, workspaces, addresses])


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0009_events_of_messages"),
    ]

    operations = [migrations.RunPython(respell, migrations.RunPython.noop, elidable=True)]
