"""Forgetting what was sent for customers who have been erased."""

from collections.abc import Collection

from engage.database.sql import Statement

_FORGET = Statement("""
WITH own AS (
    UPDATE journeys_enrollmentjob SET payload = NULL, entrance = NULL, holds_entrance = NULL WHERE id = ANY(ARRAY(
        SELECT job.id FROM unnest({trigger_ids}::text[]) AS asked (id)
        CROSS JOIN LATERAL (
            SELECT id FROM journeys_trigger sent WHERE sent.id = asked.id AND sent.customers <= 1000 LIMIT 1
        ) AS trigger
        CROSS JOIN LATERAL (
            SELECT id, customer_id, payload, entrance FROM journeys_enrollmentjob queued
            WHERE queued.trigger_id = trigger.id OFFSET 0
        ) AS job
        WHERE (job.payload IS NOT NULL OR job.entrance IS NOT NULL)
          AND NOT EXISTS (SELECT FROM customers_customer known WHERE known.id = job.customer_id)
          AND NOT EXISTS (SELECT FROM customers_alias merged WHERE merged.id = job.customer_id)
    ))
)
SELECT journeys_forget_payloads({trigger_ids}::varchar[])
""")


def forget_payloads_of_erased(trigger_ids: Collection[str]) -> None:
    """Blanks the payload of each trigger, of at most 1,000 customers, none of whom exists any more, and what
    was sent in their jobs for those alone who do not.

    For code that ends jobs: an erasure blanks what it finds, but cannot see a call that commits just after it. Both
    use one function of the database (migrations/0039_merged_are_there.py), for which who was merged is there.
    """
    _FORGET.execute(trigger_ids=sorted(trigger_ids))
