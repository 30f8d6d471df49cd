"""What must hold of waits for a condition, which any write of the profile may end: each ends once, as it should."""

import time
from collections.abc import Iterator

from tests.chaos.load import Sending
from tests.chaos.service import Service

_WAITS = """
SELECT entry.id, customer.external_id, workspace.key, (trigger.payload->>'coupon')::int,
       extract(epoch FROM run.began_at)::float, extract(epoch FROM run.ended_at)::float,
       array(SELECT step_id FROM journeys_steprun later WHERE later.enrollment_id = entry.id AND ordinal > run.ordinal)
FROM journeys_steprun run
JOIN journeys_enrollment entry ON entry.id = run.enrollment_id
JOIN customers_customer customer ON customer.id = entry.customer_id
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
JOIN engage_workspace workspace ON workspace.id = entry.workspace_id
WHERE run.type = 'wait_until' AND run.state = 'done'
"""


def waits_for_a_profile_end_once(service: Service) -> Iterator[str]:
    """On one of their two ways: if the value was written, and only then.

    What was answered while it waited, and was not written over meanwhile, is not missed. What was sent may have come.
    """
    sent: dict[tuple[str, str], list[Sending]] = {}
    for sending in service.load.sendings:
        if "done" in sending.call.words.get("attributes", ()):
            sent.setdefault((sending.call.tenant, sending.call.customers[0]), []).append(sending)
    since = time.time() - time.monotonic()
    for entry, customer, tenant, coupon, began, ended, ways in service.ask(_WAITS):
        writes = sent.get((tenant, customer), [])
        meant = [one for one in writes if one.call.words["coupon"] == coupon]
        meanwhile = [one for one in writes if one.ended + since > began and one.began + since < ended]
        met = [one for one in meant if one.succeeded and one.began + since > began and one.ended + since < ended]
        if len(ways) != 1 or ways[0] not in {"yes", "no"}:
            yield f"the wait of {entry} led to {ways}"
        elif ways == ["yes"] and not meant:
            yield f"the wait of {entry} ended for a value that was never written"
        elif ways == ["no"] and met and len(meanwhile) == len(met):
            yield f"the wait of {entry} missed {met[0].call.name}"
