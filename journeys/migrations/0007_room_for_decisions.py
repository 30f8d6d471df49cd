"""A page of jobs is filled to two fifths, so that each finds room on it for what is decided about it.

Every job is written twice: queued, and decided. A decision changes nothing that is indexed, so where the new version
fits on the same page, PostgreSQL leaves all four indexes alone; else it makes an entry in each. On full pages nearly
every decision went elsewhere: it took half as long again, and the indexes became twice as large, which outweighs the
emptier pages.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("journeys", "0006_due_without_state")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE journeys_enrollmentjob SET (fillfactor = 40)",
            "ALTER TABLE journeys_enrollmentjob RESET (fillfactor)",
        )
    ]
