"""What a trigger's jobs refer to is always looked up by its key.

PostgreSQL keeps the plans of a function for a session. One that was made while a workspace had few customers would read
all of them for each job of a call, until the table is analyzed.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("journeys", "0007_room_for_decisions")]

    operations = [
        migrations.RunSQL(
            "ALTER FUNCTION journeys_hold_jobs_together() SET enable_seqscan = off",
            "ALTER FUNCTION journeys_hold_jobs_together() RESET enable_seqscan",
        )
    ]
