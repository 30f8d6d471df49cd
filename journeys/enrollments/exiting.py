"""Ends an enrollment on request, exactly: no step follows.

Walkers lock the customers' rows first and then read the state of the enrollments. A transaction that holds the
customer's row therefore ends the enrollment between two walks, and the next walk no longer finds it.
"""

from django.db import transaction

from customers.models import Customer
from engage.database.object_ids import is_object_id
from engage.errors import Refusal
from journeys.enrollments.states import EnrollmentNotFound, EnrollmentState, enrollment_state
from journeys.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.models import Enrollment


class EnrollmentAlreadyEnded(Refusal):
    """The enrollment had already ended, and stays as it is."""

    status = 409
    error = "Enrollment already ended"
    code = "enrollment_already_ended"


def exit_enrollment(*, workspace_id: str, enrollment_id: str, reason: str) -> EnrollmentState:
    """Ends the enrollment with this reason and returns its new state.

    Raises EnrollmentNotFound or EnrollmentAlreadyEnded.
    """
    if not is_object_id(enrollment_id):
        raise EnrollmentNotFound(enrollment_id)
    with transaction.atomic():
        own = Enrollment.objects.filter(workspace_id=workspace_id, id=enrollment_id)
        customer = Customer.objects.filter(workspace_id=workspace_id, id__in=own.values("customer_id"))
        list(customer.select_for_update(no_key=True).values_list("id"))
        # An enrollment of another workspace has no customer here to lock, and is not found below.
        standing = enrollment_state(workspace_id=workspace_id, enrollment_id=enrollment_id)
        if not exit_enrollments([EnrollmentExit(enrollment_id=enrollment_id, reason=reason)]):
            raise _ended(standing.enrollment)
        return enrollment_state(workspace_id=workspace_id, enrollment_id=enrollment_id)


def _ended(enrollment: Enrollment) -> EnrollmentAlreadyEnded:
    why = f" {enrollment.exit_reason}" if enrollment.exit_reason else ""
    return EnrollmentAlreadyEnded(f"The enrollment is {enrollment.state} already.{why}")
