"""Forgetting what was sent for customers who have been erased."""

from collections.abc import Collection

from engage.database.sql import Statement

_FORGET = Statement("SELECT journeys_forget_payloads({trigger_ids}::varchar[])")


def forget_payloads_of_erased(trigger_ids: Collection[str]) -> None:
    """Blanks the payload of each trigger, of at most 1,000 customers, none of whom exists any more.

    For code that ends jobs: an erasure blanks what it finds, but cannot see a call that commits just after it. Both
    use one function of the database (migrations/0039_merged_are_there.py), for which who was merged is there.
    """
    _FORGET.execute(trigger_ids=sorted(trigger_ids))
