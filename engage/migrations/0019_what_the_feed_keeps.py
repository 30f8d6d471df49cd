"""The feed keeps what job ids are made of, and its arrays as they are: compressing them took half of what telling costs."""

import django.contrib.postgres.fields
from django.db import migrations, models

_ARRAYS = (
    "customer_ids", "external_ids", "trigger_ids", "queued_ms", "job_ids", "enrollment_ids", "results", "reasons",
)  # fmt: skip


def _stored(how: str) -> str:
    return "ALTER TABLE engage_feedbatch " + ", ".join(f"ALTER COLUMN {name} SET STORAGE {how}" for name in _ARRAYS)


class Migration(migrations.Migration):
    dependencies = [("engage", "0018_support_may_hold")]

    operations = [
        migrations.AddField(
            model_name="feedbatch",
            name="queued_ms",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(), null=True, size=None
            ),
        ),
        migrations.RunSQL(_stored("EXTERNAL"), _stored("EXTENDED")),
    ]
