"""Forgetting what was sent for customers who have been erased."""

from collections.abc import Collection

from django.db import connection


def forget_payloads_of_erased(trigger_ids: Collection[str]) -> None:
    """Blanks the payload of each trigger, of at most 1,000 customers, none of whom exists any more.

    For code that ends jobs: an erasure blanks what it finds, but cannot see a call that commits just after it. Both
    use one function of the database (migrations/0012_forget_payloads_of_all.py).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT journeys_forget_payloads(%s::varchar[])", [sorted(trigger_ids)])
