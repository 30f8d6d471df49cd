"""A call for very many customers beside single triggers of another workspace."""

import json
from collections.abc import Iterator

from tests.chaos.faults import fault
from tests.chaos.load import exchange
from tests.chaos.plan import Planned
from tests.chaos.scenario import Chance, Scenario, Trial
from tests.chaos.service import Service
from tests.chaos.tenants import CUSTOMERS, Course

CROWD = Course(
    key="crowd", rule="always_at_once", reenter=True,
    steps=[{"id": "came", "type": "update_profile", "attributes": {"came": "{{ enrollment.id }}"}}],
)  # fmt: skip
_NUMBER = 200_000
_TENANT, _OTHER = "north", "south"
_SECONDS, _SINGLES = 40, 200
_FIRST_STEP_SECONDS = 1.0  # after a single trigger, at the 99th percentile
_DONE_WITHIN = 120.0  # on a small machine

_PREPARE = """
INSERT INTO customers_segment (id, workspace_id, key, name)
SELECT left(md5({workspace} || 'crowd'), 24), {workspace}, 'crowd', 'Crowd' ON CONFLICT DO NOTHING;
INSERT INTO customers_customer (id, workspace_id, external_id, attributes)
SELECT left(md5({workspace} || n), 24), {workspace}, 'crowd-' || n, '{{}}' FROM generate_series(1, {number}) n
ON CONFLICT DO NOTHING;
INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
SELECT workspace_id, left(md5({workspace} || 'crowd'), 24), id FROM customers_customer
WHERE workspace_id = {workspace} AND external_id LIKE 'crowd-%%' ON CONFLICT DO NOTHING;
ANALYZE customers_customer, customers_segmentmembership
"""
_SEGMENT = "SELECT id FROM customers_segment WHERE workspace_id = %s AND key = 'crowd'"


def make_crowd(service: Service) -> None:
    service.ask(_PREPARE.format(workspace=f"'{service.tenants[_TENANT].workspace}'", number=_NUMBER))


def call_crowd(service: Service) -> None:
    tenant = service.tenants[_TENANT]
    ((segment,),) = service.ask(_SEGMENT, tenant.workspace)
    path = f"/api/v1/journeys/{tenant.workspace}/{tenant.journeys[CROWD.key]}/trigger"
    headers = {"Authorization": f"Bearer {tenant.key}", "Content-Type": "application/json"}
    status, _ = exchange(service.load.webs[0], "POST", path, headers, json.dumps({"segment_ids": [segment]}).encode())
    if status != 202:
        service.complaints.append(f"the call for {_NUMBER} was answered {status}")


def _single_triggers(seed: str, chance: Chance) -> list[Planned]:
    """Each for another customer."""
    return [
        Planned(
            name=f"{seed}-{n}", at=n * _SECONDS / _SINGLES, kind="single", tenant=_OTHER, journey="campaign",
            customers=(f"c-{number}",), words={"coupon": n},
        )
        for n, number in enumerate(chance.sample(range(CUSTOMERS), _SINGLES))
    ]  # fmt: skip


_LATENESS = """
SELECT count(*), coalesce(
    percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM run.began_at - trigger.queued_at)), 0
)::float
FROM journeys_steprun run
JOIN journeys_enrollment entry ON entry.id = run.enrollment_id
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
WHERE run.ordinal = 1 AND trigger.request_id LIKE %s
"""


def _singles_walk_at_once(service: Service, trial: Trial) -> Iterator[str]:
    number, seconds = service.ask(_LATENESS, f"{trial.seed}-%")[0]
    if number < _SINGLES or seconds > _FIRST_STEP_SECONDS:
        yield f"the first step of {number} single triggers began after {seconds:.2f} s at the 99th percentile"


_WALKED = """
SELECT count(*), count(DISTINCT customer_id), (SELECT count(*) FROM journeys_steprun WHERE step_id = 'came')
FROM journeys_enrollment WHERE state = 'completed' AND journey_id = %s
"""


def _all_have_walked(service: Service, trial: Trial) -> Iterator[str]:
    numbers = service.ask(_WALKED, service.tenants[_TENANT].journeys[CROWD.key])[0]
    if numbers[0] != numbers[2] or numbers[0] % _NUMBER or numbers[1] != _NUMBER:
        yield f"of {_NUMBER}, {numbers[0]} have completed, {numbers[1]} different ones, with {numbers[2]} steps"


CROWDED = Scenario(
    name="crowd", load=_SECONDS, per_second=0, beside=_single_triggers, before=make_crowd,
    faults=lambda chance: [fault(chance.uniform(0, 0.5), f"a call for {_NUMBER}", call_crowd)],
    decided_within=_DONE_WITHIN, rest_seconds=_DONE_WITHIN, findings=(_singles_walk_at_once, _all_have_walked),
)  # fmt: skip
