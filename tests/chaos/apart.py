"""Webhooks that fail, or cannot be read at all, beside those that are well: each costs the others nothing."""

import time
from collections.abc import Iterator

from tests.chaos.faults import Fault, fault
from tests.chaos.findings import healthy_webhooks_are_prompt
from tests.chaos.plan import TENANTS, Planned
from tests.chaos.scenario import Chance, Scenario, Trial
from tests.chaos.service import Service
from tests.chaos.tenants import CUSTOMERS, Course, webhook

_CREDENTIAL = {"headers": {"Authorization": "Bearer x"}}
FAILING_PATH = Course(key="apart_path", rule="once", steps=[webhook("bad", "receiver/status/500")])
APART = (
    Course(key="apart_step", rule="once", steps=[{**webhook("sealed"), **_CREDENTIAL}]),
    Course(key="apart_row", rule="once", steps=[webhook("sealed")]),
    FAILING_PATH,
)
_SEALED = ("apart_step", "apart_row")
_EACH, _FAILING = 5, 40  # customers of each workspace
_WAITING_SECONDS = 20.0


def calls_beside(seed: str, chance: Chance, journey: str, number: int, *, at: float) -> list[Planned]:
    first = chance.randrange(CUSTOMERS - number)
    return [
        Planned(
            name=f"{seed}-{journey}-{tenant}-{n}", at=at, kind="single", tenant=tenant, journey=journey,
            customers=(f"c-{first + n}",), words={"coupon": n},
        )
        for tenant in TENANTS for n in range(number)
    ]  # fmt: skip


# A row that cannot be decrypted ---------------------------------------------------------------------------------------

_SEAL_ROWS = """
CREATE OR REPLACE FUNCTION seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.headers = '"encrypted:lost"'; RETURN NEW; END $$;
DROP TRIGGER IF EXISTS seal ON journeys_webhookdelivery;
CREATE TRIGGER seal BEFORE INSERT ON journeys_webhookdelivery FOR EACH ROW
WHEN (NEW.source LIKE ANY (ARRAY[{}])) EXECUTE FUNCTION seal()
"""
_SEAL_STEPS = """
UPDATE journeys_journeyrevision
SET steps = jsonb_set(steps, '{0,headers,Authorization}', %s::jsonb)
WHERE journey_id IN (SELECT id FROM journeys_journey WHERE key = 'apart_step')
"""
_WAITING = """
SELECT count(*) FILTER (WHERE entry.error LIKE 'ENCRYPTION_KEYS lacks%%' AND entry.attempts = 0),
       count(*) FILTER (WHERE delivery.state = 'waiting' AND delivery.attempts = 0
                        AND delivery.result LIKE 'UnknownEncryptionKey: ENCRYPTION_KEYS lacks%%'), count(*)
FROM journeys_enrollment entry
JOIN journeys_journey journey ON journey.id = entry.journey_id AND journey.key = ANY(%s)
LEFT JOIN journeys_webhookdelivery delivery ON delivery.enrollment_id = entry.id
WHERE entry.state = 'active'
"""
_CAME_TO = """
SELECT count(*) FROM journeys_webhookdelivery delivery JOIN journeys_enrollment entry ON entry.id = enrollment_id
JOIN journeys_journey journey ON journey.id = entry.journey_id
WHERE journey.key = ANY(%s) AND delivery.state = 'delivered' AND delivery.attempts = 1
"""


def _seal(service: Service) -> None:
    rows = ", ".join(f"'step:{tenant.journeys['apart_row']}:%%'" for tenant in service.tenants.values())
    service.ask(_SEAL_ROWS.format(rows))
    service.ask(_SEAL_STEPS, '"encrypted:lost"')


def _see_them_wait(service: Service) -> None:
    """Soon: workers that another fault has replaced are there again only after some seconds."""
    wanted = _EACH * len(TENANTS)
    until = time.monotonic() + _WAITING_SECONDS
    while (waiting := service.ask(_WAITING, list(_SEALED))[0]) != (wanted, wanted, 2 * wanted):
        if time.monotonic() < until:
            time.sleep(0.2)
            continue
        steps, rows, number = waiting
        service.complaints.append(f"{steps} steps and {rows} requests of {number} waited with their reason")
        return


def _unseal(service: Service) -> None:
    """As once the key is there, and the processes were started anew."""
    service.ask("DROP TRIGGER seal ON journeys_webhookdelivery")
    service.ask(
        """UPDATE journeys_webhookdelivery SET headers = '{"Content-Type": "application/json"}' """
        """WHERE headers = '"encrypted:lost"'"""
    )
    service.ask(_SEAL_STEPS, '"Bearer x"')
    for name in ("walk-1", "walk-2"):
        service.fleet[name].kill()
        service.fleet[name].start()


def _sealed_faults(chance: Chance) -> list[Fault]:
    return [
        fault(0, "a step and requests that cannot be decrypted", _seal),
        fault(9, "they wait", _see_them_wait),
        fault(9.5, "the key is there again", _unseal),
    ]


def _all_were_sent(service: Service, trial: Trial) -> Iterator[str]:
    sent, wanted = service.count(_CAME_TO, list(_SEALED)), 2 * _EACH * len(TENANTS)
    if sent != wanted:
        yield f"{sent} of {wanted} webhooks were sent, at their first attempt, once they could be decrypted"


# A failing path beside a healthy one ----------------------------------------------------------------------------------

_OPEN = """
SELECT (SELECT count(*) FROM journeys_webhookcircuit WHERE open_until IS NOT NULL AND source LIKE '%%:bad'),
       (SELECT count(*) FROM journeys_webhookcircuit WHERE open_until IS NOT NULL AND source NOT LIKE '%%:bad'),
       (SELECT count(*) FROM journeys_webhookhost WHERE open_until IS NOT NULL)
"""


def _see_it_left_alone(service: Service) -> None:
    bad, others, hosts = service.ask(_OPEN)[0]
    if (bad, others, hosts) != (len(TENANTS), 0, 0):
        service.complaints.append(f"{bad} failing steps, {others} others and {hosts} hosts were left alone")


def mend_paths(service: Service) -> None:
    """What waits goes to another path, as the receiver's own end would do."""
    service.ask(
        "UPDATE journeys_webhookdelivery SET url = replace(url, '/status/500', '/ok?mended'), due_at = now() "
        "WHERE state = 'waiting' AND source LIKE %s",
        "%:bad",
    )


APART_SCENARIOS = (
    Scenario(
        name="undecryptable", load=11, faults=_sealed_faults,
        beside=lambda seed, chance: [
            call for key in _SEALED for call in calls_beside(seed, chance, key, _EACH, at=1.0)
        ],
        findings=(_all_were_sent, healthy_webhooks_are_prompt),
    ),
    Scenario(
        name="failing-path", load=20, findings=(healthy_webhooks_are_prompt,),
        beside=lambda seed, chance: calls_beside(seed, chance, "apart_path", _FAILING, at=1.0),
        faults=lambda chance: [
            fault(8, "the failing steps are left alone", _see_it_left_alone),
            fault(18, "their path is mended", mend_paths),
        ],
    ),
)  # fmt: skip
