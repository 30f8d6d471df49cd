"""From the latest release to this version under load, as docs/operations.md says, with one step back: no call fails."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event, Thread
from urllib.request import urlopen

import psycopg

from tests.chaos.apart import FAILING_PATH, calls_beside, mend_paths
from tests.chaos.faults import Deed, Fault, fault
from tests.chaos.fleet import LANES, Member
from tests.chaos.scenario import Chance, Scenario, Trial
from tests.chaos.service import Service, manage
from tests.chaos.tenants import BY_KEY, TRIGGERED, Course, webhook
from tests.support.trees import ROOT, this_tree
from tests.support.waiting import wait_until
from tests.support.watched_migrations import HOT

RELEASE = "42ea5c1"  # 1.0.0
# As docs/operations.md has it: whoever reads what others write comes before them.
ORDER = ("webhooks", "walk", "bulk", "worker", "web", "scheduler")
_BACK = ("web", "walk", "webhooks")
_SECRET = "Bearer in-confidence"
CREDENTIALED = Course(
    key="credentialed", rule="always_at_once", reenter=True,
    steps=[
        {**webhook("tell", "receiver/ok?credentialed=/ok"), "headers": {"Authorization": _SECRET}},
        {"id": "rest", "type": "delay", "for": "PT1S"},
        {**webhook("again", "receiver/ok?credentialed=/ok"), "headers": {"Authorization": _SECRET}},
    ],
)  # fmt: skip
_JOURNEYS = [key for key in TRIGGERED if not BY_KEY[key].is_new]
_LONGEST_WAIT = 1.0  # seconds for a hot table
_FAILING = 40  # customers of each workspace, at whose path 1.0.0 leaves the whole host alone
# What goes to the same host by other paths, and has waited longer than any circuit of 1.0.0 and its probe.
_STUCK = """
SELECT count(*) FILTER (WHERE source = ''), count(*) FILTER (
    WHERE url LIKE '%%/ok%%' AND attempts = 0 AND due_at < now() - interval '45 seconds'
) FROM journeys_webhookdelivery WHERE state = 'waiting'
"""
_ANSWERS = 20  # of new connections to an address: one of them reached whoever listens there since


def _migrate(service: Service) -> None:
    with _waiting_for_tables(service):
        manage(this_tree(), service.fleet["web-1"].environment, "migrate", "--verbosity", "0")


@contextmanager
def _waiting_for_tables(service: Service) -> Iterator[None]:
    """Complains where a writer waits too long for a hot table."""
    over, longest = Event(), dict[str, float]()
    thread = Thread(target=_wait_for_tables, args=[service.database_url, longest, over])
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    for table, seconds in longest.items():
        if seconds > _LONGEST_WAIT:
            service.complaints.append(f"{table} could not be written for {seconds:.1f} s")


def _wait_for_tables(url: str, longest: dict[str, float], over: Event) -> None:
    with psycopg.connect(url, autocommit=True, options="-c lock_timeout=60s") as connection:
        while not over.is_set():
            for table in HOT:
                began = time.monotonic()
                # The latest release may not have it, and so nobody who waits for it.
                with suppress(psycopg.errors.UndefinedTable), connection.transaction():
                    connection.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
                longest[table] = max(longest.get(table, 0.0), time.monotonic() - began)


def _renew(kind: str) -> Deed:
    """Starts the process with this version's code beside the old one, and stops that once the new one serves."""
    return lambda service: _replace(service, f"{kind}-1", this_is_new=True)


def _step_back(service: Service) -> None:
    for kind in _BACK:
        _replace(service, f"{kind}-1", this_is_new=False)
    time.sleep(2)
    for kind in reversed(_BACK):
        _replace(service, f"{kind}-1", this_is_new=True)


def _replace(service: Service, name: str, *, this_is_new: bool) -> None:
    old = service.fleet[name]
    root = ROOT if this_is_new else service.began_with
    new = replace(old, root=root, log=old.log.with_name(f"{name}-{time.monotonic():.0f}.log"), running=None)
    listening = service.listening()
    new.start()
    kind = name.partition("-")[0]
    if kind == "web":
        wait_until(lambda: _serves(new), seconds=60, what=f"the new {name}")
    elif kind in LANES:
        wait_until(lambda: service.listening() > listening, seconds=60, what=f"the new {name}")
    code = old.stop()
    if code:
        service.complaints.append(f"{name} of {old.root} ended with {code}")
    service.fleet.members[name] = new


def _serves(new: Member) -> bool:
    if "web: serving" in new.log.read_text():
        return True
    if new.root == ROOT or not new.children():
        return False
    for _ in range(_ANSWERS):  # 1.0.0 does not say it, and listens before
        with urlopen(f"http://{new.host}:{new.port}/livez", timeout=60):
            pass
    return True


def _upgrade(chance: Chance) -> list[Fault]:
    return [
        fault(2, "migrated", _migrate),
        *(fault(10 + 6 * place, f"{kind} replaced", _renew(kind)) for place, kind in enumerate(ORDER)),
        fault(50, f"{', '.join(_BACK)} put back to {RELEASE}, and replaced again", _step_back),
        fault(100, "what waited has its source, and none is stuck behind the failing path", _see_none_stuck),
        fault(101, "that path is mended", mend_paths),
    ]


def _see_none_stuck(service: Service) -> None:
    unknown, stuck = service.ask(_STUCK)[0]
    if unknown or stuck:
        service.complaints.append(f"{unknown} webhooks wait without a source, {stuck} behind another path that fails")


def _all_run_this_version(service: Service, trial: Trial) -> Iterator[str]:
    for member in service.fleet.members.values():
        if not member.lives or member.root != ROOT:
            yield f"{member.name} {'runs' if member.lives else 'ended'}, of {member.root}"


def _credentials_arrive(service: Service, trial: Trial) -> Iterator[str]:
    sent = [request for request in service.receiver.arrived if "credentialed" in request.path]
    if not sent:
        yield "no webhook was sent with credentials"
    for request in sent:
        if request.headers.get("authorization") != _SECRET:
            yield f"{request.webhook_id} arrived with {request.headers.get('authorization')!r} as its credentials"


def _no_call_fails(service: Service, trial: Trial) -> Iterator[str]:
    """Not even for a moment: what other scenarios excuse, such as a 503, is none here."""
    for sending in trial.sendings:
        if not sending.succeeded and sending.status not in {404, 409}:
            yield f"{sending.call.kind} {sending.call.name} was answered {sending.status}"


UPGRADE = Scenario(
    name="upgrade", load=120, per_second=10, journeys=(*_JOURNEYS, CREDENTIALED.key), faults=_upgrade,
    begins_with=RELEASE, courses=(CREDENTIALED, FAILING_PATH),
    beside=lambda seed, chance: calls_beside(seed, chance, FAILING_PATH.key, _FAILING, at=0.5),
    findings=(_all_run_this_version, _credentials_arrive, _no_call_fails),
)  # fmt: skip
