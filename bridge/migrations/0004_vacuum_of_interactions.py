"""As other tables that grow: journeys/migrations/0088_vacuum_of_large_tables.py."""

from django.db import migrations

_TABLE = "bridge_interaction"


class Migration(migrations.Migration):
    dependencies = [("bridge", "0003_written_order")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {_TABLE} SET (autovacuum_vacuum_scale_factor = 0.02, "
            "autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)",
            f"ALTER TABLE {_TABLE} RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor, "
            "autovacuum_analyze_scale_factor)",
        ),
    ]
