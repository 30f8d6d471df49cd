"""Due enrollments are found workspace by workspace, those of crowds apart.

Those that were tried before are few: the version before finds them by the new index as well.
"""

from django.db import migrations, models
from django.db.models import Func, Q

from engage.database.repeatable import (AddIndexConcurrently, RemoveIndexConcurrently,)

MOMENT = Func("due_at", template="coalesce(%(expressions)s, 'infinity')")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0022_enrollments_of_crowds")]

    operations = [
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(
                "crowd", "workspace", MOMENT, condition=Q(due_at__isnull=False, attempts=0), name="enrollment_in_turn"
            ),
        ),
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(
                "crowd",
                "workspace",
                MOMENT,
                condition=Q(due_at__isnull=False, attempts__gt=0),
                name="enrollment_tried_in_turn",
            ),
        ),
        RemoveIndexConcurrently(model_name="enrollment", name="enrollment_tried_by_due"),
    ]
