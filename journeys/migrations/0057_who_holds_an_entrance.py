"""Who holds an entrance, who has it, and who is inside once for each."""

from django.db import migrations, models
from django.db.models.functions import Coalesce

from engage.database.repeatable import (
    AddIndexConcurrently,
    AddUniqueIndexConcurrently,
    RemoveUniqueIndexConcurrently,
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0056_concurrent_entrances")]

    operations = [
        AddIndexConcurrently(
            model_name="enrollmentjob",
            index=models.Index(
                condition=models.Q(("entrance__isnull", False)), fields=["journey", "entrance"], name="job_by_entrance"
            ),
        ),
        AddUniqueIndexConcurrently(
            model_name="enrollmentjob",
            constraint=models.UniqueConstraint(
                condition=models.Q(("holds_entrance", True)),
                fields=("customer", "journey", "entrance"),
                name="job_entrance",
            ),
        ),
        AddUniqueIndexConcurrently(
            model_name="enrollment",
            constraint=models.UniqueConstraint(
                models.F("customer"),
                models.F("journey"),
                Coalesce(models.F("entrance"), models.Value("")),
                condition=models.Q(("state", "active")),
                name="enrollment_one_inside",
            ),
        ),
        RemoveUniqueIndexConcurrently(model_name="enrollment", name="enrollment_one_active"),
    ]
