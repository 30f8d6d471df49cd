"""What waits already is given its source, some at a time: behind the circuit that all of them shared, it was stuck."""

from typing import Any

from django.db import migrations

_AT_ONCE = 1_000
# By their partial indexes.
_WITHOUT = """
SELECT id FROM journeys_webhookdelivery WHERE state = 'waiting' AND source = ''
UNION ALL SELECT id FROM journeys_webhookdelivery WHERE state = 'held' AND source = ''
"""
# The database gives it (0078). Whatever a sender has locked is given its own by that.
_TOUCH = """
UPDATE journeys_webhookdelivery SET source = '' WHERE id = ANY(ARRAY(
    SELECT id FROM journeys_webhookdelivery WHERE id = ANY(%s) AND source = '' FOR NO KEY UPDATE SKIP LOCKED
))
"""


def give(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_WITHOUT)
        ids = [row[0] for row in cursor.fetchall()]
        for begin in range(0, len(ids), _AT_ONCE):
            cursor.execute(_TOUCH, [ids[begin : begin + _AT_ONCE]])
        cursor.execute("DELETE FROM journeys_webhookcircuit WHERE source = ''")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0078_sources_of_what_waits")]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
