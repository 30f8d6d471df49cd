"""The state of one enrollment."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import BooleanField, DateTimeField, OuterRef, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from engage.database.object_ids import is_object_id, row_with_id
from engage.errors import Refusal
from journeys.models import Enrollment, WebhookDelivery
from journeys.rules.failures import GIVEN_UP

# For those whose steps could not be walked, and that were given up. Their index is only for this. It is written out: of
# a parameter a plan that is kept knows nothing.
GAVE_UP = RawSQL(f"journeys_enrollment.exit_reason::text LIKE '{GIVEN_UP}%%'", (), output_field=BooleanField())  # noqa: S611
# When a delivery that is on its way is tried next, at the earliest; null while its host is held. `{of}` is its alias.
NEXT_ATTEMPT = """
CASE WHEN {of}.state = 'waiting'
    THEN journeys_next_attempt({of}.workspace_id, {of}.host, {of}.source, {of}.due_at) ELSE {of}.due_at
END
"""


class EnrollmentNotFound(Refusal):
    """No such enrollment in the workspace."""

    status = 404
    error = "Enrollment not found"

    def __init__(self, enrollment_id: str) -> None:
        super().__init__(f"There is no enrollment {enrollment_id[:100]!r} in this workspace.")


@dataclass(frozen=True, kw_only=True)
class EnrollmentState:
    """An enrollment with its journey, revision and job loaded; `goes_on_at` is None if nothing is due."""

    enrollment: Enrollment
    goes_on_at: datetime | None


def enrollment_state(*, workspace_id: str, enrollment_id: str) -> EnrollmentState:
    """Raises EnrollmentNotFound. While it waits for a webhook, `goes_on_at` is when that is next attempted.

    While its journey is held, that may be over; it is None while its host is held.
    """
    tried_at = RawSQL(NEXT_ATTEMPT.replace("{of}", "U0"), (), output_field=DateTimeField())  # noqa: S611
    sending = WebhookDelivery.objects.filter(
        enrollment_id=OuterRef("id"), ordinal=OuterRef("steps_begun") - 1, state__in=WebhookDelivery.UNDECIDED
    )
    own = Enrollment.objects.filter(workspace_id=workspace_id).select_related("journey", "revision", "job")
    read = own.defer("revision__steps", "revision__exit_on", "journey__entry_conditions").annotate(
        goes_on_at=Coalesce(
            "watches_until", "due_at", "was_due_at", Subquery(sending.annotate(tried_at=tried_at).values("tried_at"))
        )
    )
    enrollment = read.filter(id=enrollment_id).first() if is_object_id(enrollment_id) else None
    if enrollment is None:
        raise EnrollmentNotFound(enrollment_id)
    is_active = enrollment.state == Enrollment.State.ACTIVE
    return EnrollmentState(enrollment=enrollment, goes_on_at=enrollment.goes_on_at if is_active else None)


def journey_of_enrollment(*, workspace_id: str, enrollment_id: str) -> str | None:
    """The journey of the workspace's enrollment; None if there is no such enrollment."""
    found = row_with_id(Enrollment.objects.filter(workspace_id=workspace_id).only("journey_id"), enrollment_id)
    return found.journey_id if found else None
