"""Whether enrollments wait to be claimed."""

from django.db.models.functions import Now

from journeys.models import Enrollment


def is_anybody_due() -> bool:
    """Whether an enrollment is due and not claimed: after a claim that found none, one whose customer is locked."""
    return Enrollment.objects.filter(due_at__lte=Now()).exists()
