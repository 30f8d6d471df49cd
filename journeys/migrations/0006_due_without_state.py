"""The indexes of what is due no longer name the state, and only who is inside may be due.

An index whose condition is the state serves, for the planner, every statement that asks for the same state: where its
statistics say that nobody is inside, reading all of the index seems to cost nothing. The new indexes are there before
the old ones go, so that walkers of the version before always have one.
"""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations, models
from django.db.models import Q

from engage.database.repeatable import (AddConstraintNotValid, AddIndexConcurrently, RemoveIndexConcurrently,)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0005_tried_enrollments")]

    operations = [
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="enrollment_by_due"),
        ),
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(
                fields=["due_at"], condition=Q(due_at__isnull=False, attempts__gt=0), name="enrollment_tried_by_due"
            ),
        ),
        RemoveIndexConcurrently(model_name="enrollment", name="enrollment_due"),
        RemoveIndexConcurrently(model_name="enrollment", name="enrollment_tried"),
        AddConstraintNotValid(
            model_name="enrollment",
            constraint=models.CheckConstraint(
                condition=Q(due_at__isnull=True) | Q(state="active"), name="enrollment_due_inside"
            ),
        ),
        ValidateConstraint(model_name="enrollment", name="enrollment_due_inside"),
    ]
