"""Ends an enrollment on request, exactly: no step follows.

Walkers lock the customers' rows first and then read the state of the enrollments. A transaction that holds the
customer's row therefore ends the enrollment between two walks, and the next walk no longer finds it.
"""

from django.db import transaction

from customers.identity.locks import lock_customer
from engage.database.object_ids import is_object_id
from engage.errors import Refusal
from journeys.engine.enrollments.states import EnrollmentNotFound, EnrollmentState, enrollment_state
from journeys.engine.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.models import Enrollment


class EnrollmentAlreadyEnded(Refusal):
    """The enrollment had already ended, and stays as it is."""

    status = 409
    error = "Enrollment already ended"


def exit_enrollment(*, workspace_id: str, enrollment_id: str, reason: str) -> EnrollmentState:
    """Ends the enrollment with this reason and returns its new state.

    Raises EnrollmentNotFound or EnrollmentAlreadyEnded.
    """
    if not is_object_id(enrollment_id):
        raise EnrollmentNotFound(enrollment_id)
    with transaction.atomic():
        _lock_customer_of(workspace_id, enrollment_id)
        standing = enrollment_state(workspace_id=workspace_id, enrollment_id=enrollment_id)
        if not exit_enrollments([EnrollmentExit(enrollment_id=enrollment_id, reason=reason)]):
            raise _ended(standing.enrollment)
        return enrollment_state(workspace_id=workspace_id, enrollment_id=enrollment_id)


def _lock_customer_of(workspace_id: str, enrollment_id: str) -> None:
    """An enrollment of another workspace has no customer here to lock, and is not found afterwards."""
    own = Enrollment.objects.filter(workspace_id=workspace_id, id=enrollment_id)
    while customer_id := own.values_list("customer_id", flat=True).first():
        if lock_customer(workspace_id=workspace_id, customer_id=customer_id):
            break  # else they were merged or erased while this waited, and the enrollment has another one, or is gone


def _ended(enrollment: Enrollment) -> EnrollmentAlreadyEnded:
    why = f" {enrollment.exit_reason}" if enrollment.exit_reason else ""
    return EnrollmentAlreadyEnded(f"The enrollment is {enrollment.state} already.{why}")
