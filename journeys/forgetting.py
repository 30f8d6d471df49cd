"""What was sent for a customer who has been erased."""

from django.db.models import Exists, OuterRef, QuerySet

from customers.models import Customer
from journeys.models import EnrollmentJob, Trigger


def forget_payloads_of_erased(jobs: QuerySet[EnrollmentJob]) -> None:
    """Blanks what was sent for one customer alone, where the jobs' customers are not there any more.

    For whoever ends jobs: an erasure blanks what it finds, and cannot see a call that commits just after it.
    """
    there = Customer.objects.filter(id=OuterRef("jobs__customer_id"))
    Trigger.objects.filter(~Exists(there), jobs__in=jobs, customers=1).update(payload={})
