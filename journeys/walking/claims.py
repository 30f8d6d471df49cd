"""The locks under which a batch is walked, and whether enrollments wait for one."""

from collections.abc import Sequence

from django.db.models.functions import Now

from engage.database.sql import Statement
from journeys.models import Enrollment


def is_anybody_due() -> bool:
    """Whether an enrollment is due and not claimed: after a claim that found none, one whose customer is locked."""
    return Enrollment.objects.filter(due_at__lte=Now()).exists()


_LOCK = Statement("""
SELECT id FROM customers_customer
WHERE id = ANY(ARRAY(SELECT customer_id FROM journeys_enrollment WHERE id = ANY({enrollment_ids}::text[])))
ORDER BY id FOR NO KEY UPDATE
""")


def lock_customers_of(enrollment_ids: Sequence[str]) -> set[str]:
    """Locks the enrollments' customers, in the order of their ids, until the transaction ends, and returns the ids."""
    return set(_LOCK.column(enrollment_ids=list(enrollment_ids)))
