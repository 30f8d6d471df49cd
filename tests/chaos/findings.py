"""What may have to hold in a scenario beside what always has to."""

from collections.abc import Iterator

from tests.chaos.scenario import Finding, Trial
from tests.chaos.service import Service

_LATE = """
SELECT count(*), max(waited) FROM (
    SELECT extract(epoch FROM job.decided_at)::float - job.queued_ms / 1000.0::float AS waited
    FROM journeys_enrollmentjob job JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
    WHERE trigger.request_id LIKE %s
) AS job WHERE waited > %s
"""


def each_decided_within(seconds: float) -> Finding:
    """Each job of the trial, since it was queued."""

    def found(service: Service, trial: Trial) -> Iterator[str]:
        number, longest = service.ask(_LATE, f"{trial.seed}-%", seconds)[0]
        if number:
            yield f"{number} jobs waited for more than {seconds:g} s, one for {longest:.1f} s"

    return found


def each_answered_within(seconds: float, *, with_pooler: float | None = None) -> Finding:
    """Each call, with success or without. A pooler answers for a server that is silent."""

    def found(service: Service, trial: Trial) -> Iterator[str]:
        longest = with_pooler if with_pooler and service.pooled else seconds
        slow = [sending.seconds for sending in trial.sendings if sending.seconds > longest]
        if slow:
            yield f"{len(slow)} calls waited for more than {longest:g} s, one for {max(slow):.1f} s"

    return found


def some_are_refused(service: Service, trial: Trial) -> Iterator[str]:
    """Or the fault was none."""
    if not any(sending.status == 503 for sending in trial.sendings):
        yield "no call was answered 503"


_LATE_SECONDS = 3.0
_LATENESS = """
SELECT count(*), count(*) FILTER (WHERE attempt.at > run.began_at + %s * interval '1 second'),
       coalesce(max(extract(epoch FROM attempt.at - run.began_at)), 0)::float
FROM journeys_webhookdelivery delivery
JOIN journeys_webhookattempt attempt ON attempt.delivery_id = delivery.id AND attempt.number = 1
JOIN journeys_steprun run ON run.enrollment_id = delivery.enrollment_id AND run.ordinal = delivery.ordinal
JOIN journeys_enrollment entry ON entry.id = delivery.enrollment_id
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
WHERE delivery.url LIKE '%%/ok' AND delivery.source NOT LIKE '%%:sealed' AND trigger.request_id LIKE %s
"""


def healthy_webhooks_are_prompt(service: Service, trial: Trial) -> Iterator[str]:
    """Bad receivers do not keep the worker from the good one."""
    number, late, latest = service.ask(_LATENESS, _LATE_SECONDS, f"{trial.seed}-%")[0]
    if not number or late > number / 20:
        yield f"{late} of {number} webhooks to the healthy receiver were late, the latest {latest:.1f} s"
