"""`make latency`: how long callers, decisions and webhooks take, at a part of what the machine bears.

Calls come at moments that are fixed beforehand, so what waits behind others is late from its own moment on. With
--write, the figures are written beside the docs, and into the pages that show them.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from config.monitoring.release import version
from tests.benchmarks import pages
from tests.benchmarks.arrivals import arrivals, call_at, percentile
from tests.benchmarks.measures import single
from tests.benchmarks.receiver import running_receiver
from tests.benchmarks.service import CUSTOMERS, Service, running_servers, running_service
from tests.benchmarks.sizing import machine_of
from tests.support.waiting import wait_until

SHARES = (0.1, 0.5, 0.8)
PERCENTILES = (0.5, 0.9, 0.99)
_WEBHOOKS = "SELECT count(*) FROM journeys_webhookdelivery"
_OPEN = """
SELECT EXISTS (SELECT FROM journeys_chunk)
    OR EXISTS (SELECT FROM journeys_enrollment WHERE workspace_id = %(workspace)s AND state = 'active')
"""
# `decided_at` is the time at which the deciding transaction began, and `at` the one at which the request was begun.
_FOLLOWED = """
SELECT job.trigger_id, extract(epoch FROM job.decided_at)::float8, extract(epoch FROM attempt.at)::float8
FROM journeys_enrollmentjob job
JOIN journeys_enrollment enrollment ON enrollment.job_id = job.id
JOIN journeys_webhookdelivery delivery ON delivery.enrollment_id = enrollment.id
JOIN journeys_webhookattempt attempt ON attempt.delivery_id = delivery.id AND attempt.number = 1
WHERE job.workspace_id = %(workspace)s AND job.queued_ms >= %(since)s
"""


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.latency", description=__doc__)
    parser.add_argument("--seconds", type=int, default=25, help="of calls at each load (25)")
    parser.add_argument("--write", action="store_true", help="write docs/figures/latency-….json and the pages")
    arguments = parser.parse_args()
    with running_servers() as servers, running_service(servers) as service:
        report = measured(service, seconds=arguments.seconds)
    sys.stdout.write(f"{pages.latency_table(report)}\n")
    if arguments.write:
        pages.latency_file(version()).write_text(json.dumps(report, indent=2) + "\n")
        pages.renew()


def measured(service: Service, *, seconds: int) -> dict[str, Any]:
    """What is written."""
    with running_receiver() as port:
        service, called, loads = _with_a_webhook(service, port), 0, []
        _borne(service, seconds=1)  # warms up
        most = _borne(service, seconds=max(seconds // 3, 1))
        for share in SHARES:
            moments = arrivals(per_second=most * share, seconds=seconds, seed=f"{share:g}")
            late = _late(service, moments, first=called)
            loads.append({"share": share, "perSecond": round(most * share, 1), "milliseconds": late})
            called += len(moments)
    return {
        "version": version(),
        "machine": machine_of(service),
        "date": datetime.now(UTC).date().isoformat(),
        "maximum": round(most, 1),
        "seconds": seconds,
        "loads": loads,
    }


def _with_a_webhook(service: Service, port: int) -> Service:
    """The service as seen by a workspace whose journey is one webhook."""
    hook = {"id": "call", "type": "webhook", "url": f"http://127.0.0.1:{port}/", "body": {"n": 1}}
    journey = {"key": "call", "name": "Call", "trigger": "api", "allowReenrollment": True, "steps": [hook]}
    seeded = service.seed(
        {
            "workspace": {"key": "latency", "name": "Latency"},
            "apiKeys": [{"name": "server", "rateLimit": "10000000/m"}],
            "journeys": [journey],
        },
        customers=CUSTOMERS,
    )
    ids = {"workspace": seeded["workspaceId"], "journey": seeded["journeys"]["call"]}
    return replace(service, **ids, key=seeded["apiKeys"]["server"])


def _borne(service: Service, *, seconds: int) -> float:
    """Customers per second who are called for, decided and whose webhook has left, with all that has queued up."""
    began, before = time.perf_counter(), service.one(_WEBHOOKS)
    single.trigger(service, seconds=seconds)
    _finish(service)
    return float(service.one(_WEBHOOKS) - before) / (time.perf_counter() - began)


def _late(service: Service, moments: Sequence[float], *, first: int) -> dict[str, dict[str, float]]:
    """Milliseconds from each call's own moment to what follows."""
    since = service.one("SELECT (extract(epoch FROM now()) * 1000)::bigint")
    url, headers = service.base + service.trigger_path, service.server_headers
    answered = call_at(moments, url=url, headers=headers, body=partial(_body, first))
    _finish(service)
    rows = service.connection.execute(_FOLLOWED, {"workspace": service.workspace, "since": since})
    followed = {trigger: times for trigger, *times in rows}
    called = [(call, *followed[call.data["triggerId"]]) for call in answered]
    return {
        "answer": _percentiles([call.seconds for call in answered]),
        "decided": _percentiles([decided - call.at for call, decided, _ in called]),
        "webhook": _percentiles([sent - call.at for call, _, sent in called]),
    }


def _finish(service: Service) -> None:
    """Waits until everybody has left the journey."""
    named = {"workspace": service.workspace}
    wait_until(lambda: not service.one(_OPEN, named), what="the last webhook", seconds=180)


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{share * 100:g}": round(percentile(seconds, share) * 1000, 1) for share in PERCENTILES}


def _body(first: int, number: int) -> str:
    return single.BODY.replace("{n}", str((first + number) % CUSTOMERS))


if __name__ == "__main__":
    main()
