"""What was sent for several people who had all been erased before 0012 is blanked, too.

Page by page, each in a transaction of its own: the triggers' rows are locked beside the traffic.
"""

from django.db import migrations

_PAGE = 1_000
_IDS = "SELECT id FROM journeys_trigger WHERE id > %s ORDER BY id LIMIT %s"
_OF_SEVERAL = """
SELECT journeys_forget_payloads(ARRAY(SELECT id FROM journeys_trigger WHERE id = ANY(%s::text[]) AND customers > 1))
"""


def forget(apps, schema_editor):
    last = ""
    with schema_editor.connection.cursor() as cursor:
        while True:
            cursor.execute(_IDS, [last, _PAGE])
            ids = [row[0] for row in cursor.fetchall()]
            if not ids:
                return
            cursor.execute(_OF_SEVERAL, [ids])
            last = ids[-1]


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('journeys', '0012_forget_payloads_of_all'),
    ]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
