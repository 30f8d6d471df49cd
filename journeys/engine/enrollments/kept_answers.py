"""What steps kept of the answers to their webhooks, for later steps and conditions to read.

Of a step `in_app` that is the id of its delivery, which waits for it compare.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from engage.database.sql import Statement

# An expression: of an enrollment, by the ids of its steps; of a step in a loop, the last answer counts.
KEPT = """
(SELECT jsonb_object_agg(kept.step_id, kept.kept_answer ORDER BY kept.ordinal)
 FROM (
     SELECT run.step_id, sent.kept_answer, sent.ordinal FROM (
         SELECT ordinal, kept_answer FROM journeys_webhookdelivery known
         WHERE known.enrollment_id = {enrollment_id} AND known.kept_answer IS NOT NULL
     ) AS sent
     CROSS JOIN LATERAL (
         SELECT step_id FROM journeys_steprun known
         WHERE known.enrollment_id = {enrollment_id} AND known.ordinal = sent.ordinal LIMIT 1
     ) AS run
     UNION ALL
     SELECT step_id, jsonb_build_object('deliveryId', id), ordinal FROM journeys_inappdelivery known
     WHERE known.enrollment_id = {enrollment_id}
 ) AS kept)
"""
_OF_ENROLLMENTS = Statement(
    "SELECT id, {kept}::text FROM unnest({enrollment_ids}::text[]) AS asked (id)",
    kept=KEPT.replace("{enrollment_id}", "asked.id"),
)


def kept_by(enrollment_ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    """What the steps of each enrollment kept, in one statement; none for no ids."""
    if not enrollment_ids:
        return {}
    rows = _OF_ENROLLMENTS.rows(enrollment_ids=list(enrollment_ids))
    return {enrollment_id: json.loads(kept) for enrollment_id, kept in rows if kept is not None}
