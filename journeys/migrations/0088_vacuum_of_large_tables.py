"""Tables that grow are vacuumed and analyzed once a fiftieth of them has changed. PostgreSQL waits for a fifth and a tenth:
of a hundred million rows that is months, in which indexes swell and the planner goes by what was.

What is only added to is vacuumed likewise, for looks at an index alone. Notes of due hosts come and go by the second.
"""

from django.db import migrations

_LARGE = (
    "customers_customer", "customers_event", "customers_segmentmembership", "engage_auditentry", "engage_feedbatch",
    "journeys_count", "journeys_enrollment", "journeys_enrollmentjob", "journeys_inappdelivery", "journeys_steprun",
    "journeys_trigger", "journeys_webhookattempt", "journeys_webhookdelivery",
)  # fmt: skip
_FACTORS = {
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_vacuum_insert_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.02",
}
_NOTES = {"autovacuum_vacuum_scale_factor": "0", "autovacuum_vacuum_threshold": "2000"}


def _set(table: str, values: dict[str, str]) -> migrations.RunSQL:
    named = ", ".join(f"{name} = {value}" for name, value in values.items())
    return migrations.RunSQL(f"ALTER TABLE {table} SET ({named})", f"ALTER TABLE {table} RESET ({', '.join(values)})")


class Migration(migrations.Migration):
    dependencies = [
        ("journeys", "0087_hours_of_counts"),
        ("customers", "0024_room_on_the_pages"),
        ("engage", "0023_default_country"),
    ]

    operations = [*(_set(table, _FACTORS) for table in _LARGE), _set("journeys_hostdue", _NOTES)]
