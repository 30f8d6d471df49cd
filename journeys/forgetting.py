"""What was sent for customers who have been erased."""

from collections.abc import Collection

from django.db import connection


def forget_payloads_of_erased(trigger_ids: Collection[str]) -> None:
    """Blanks the payloads of the triggers of which none of those whom they named is there any more.

    For whoever ends jobs: an erasure blanks what it finds, and cannot see a call that commits just after it. Both do
    it by one function of the database (migrations/0012_forget_payloads_of_all.py).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT journeys_forget_payloads(%s::varchar[])", [sorted(trigger_ids)])
