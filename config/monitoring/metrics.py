"""`/metrics` for Prometheus: the backlog, read from PostgreSQL, and the counters, read from Redis.

Every process answers for all processes on all machines: scrape one address. If PostgreSQL or Redis is away, its half
is missing, and `engage_postgresql_up` or `engage_redis_up` shows it.
"""

from collections.abc import Iterator, Mapping, Sequence
from secrets import compare_digest

import structlog
from django.conf import settings
from django.db import DatabaseError, NotSupportedError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page

from bridge.identity.problems import Reason as IdentityReason
from bridge.messages.problems import Reason
from config.monitoring.exposition import CONTENT_TYPE, Metric, Sample, exposition, histogram
from config.monitoring.release import commit, version
from engage.database.outages import is_outage
from engage.http.app_quotas import Quota
from engage.http.authentication import Unauthorized
from engage.http.envelope import plain_failure
from engage.redis.availability import REDIS_FAILURES, redis_takes_writes
from engage.redis.metric_counters import (
    APP_QUOTA,
    BUCKETS,
    DECISIONS,
    GIVEN_UP,
    IDENTITY,
    JOURNEYS_NOT_STARTED,
    LIMITS_ALONE,
    MESSAGE_POLICY,
    MICROSECONDS,
    REQUESTS,
    SKIPPED,
    SUM,
    WEBHOOKS,
    Name,
    all_counts,
    metric_counters,
)
from journeys.models import EnrollmentJob
from journeys.operations.backlog import COUNTED_AT_MOST, Backlog, backlog
from journeys.webhooks.schedule import NextState

log = structlog.get_logger(__name__)
_LIMITED = f"counted up to {COUNTED_AT_MOST}"


@gzip_page
def metrics(request: HttpRequest) -> HttpResponse:
    """200 with the text format, compressed if asked; 401 without the token.

    If no token is set: open in development, else 404.
    """
    if not settings.METRICS_TOKEN:
        if settings.PRODUCTION:
            raise Http404
    elif not _has_token(request):
        return plain_failure(Unauthorized("Send METRICS_TOKEN as a bearer token."))
    return HttpResponse(exposition(_metrics()), content_type=CONTENT_TYPE)


def _has_token(request: HttpRequest) -> bool:
    sent = request.headers.get("Authorization", "")
    return compare_digest(sent.encode(), f"Bearer {settings.METRICS_TOKEN}".encode())


def _metrics() -> Iterator[Metric]:
    (answers, waiting), counts = _backlog(), _counts()
    yield Metric(
        name="engage_build_info", kind="gauge", meaning="The version of the process that answers.",
        samples=[Sample(value=1, labels={"version": version(), "commit": commit()})],
    )  # fmt: skip
    yield _gauge("engage_postgresql_up", "Whether PostgreSQL answers.", answers)
    meaning = (
        "Whether Redis answers and takes writes; if not, workers look for themselves and each process limits alone."
    )
    yield _gauge("engage_redis_up", meaning, redis_takes_writes())
    if waiting is not None:
        yield from _of_backlog(waiting)
    if counts is not None:
        yield from _of_counts(counts)


def _backlog() -> tuple[bool, Backlog | None]:
    """Whether PostgreSQL answers, and the backlog; None also if this version's tables do not exist."""
    try:
        return True, backlog()
    except DatabaseError as error:
        connection.close()
        away = is_outage(error) or isinstance(error, NotSupportedError)  # one that is too old is as good as none
        if not away:
            log.exception("backlog_unreadable")
        return not away, None


def _counts() -> Mapping[Name, int] | None:
    metric_counters.send()
    try:
        return all_counts()
    except REDIS_FAILURES:
        return None


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return Metric(name=name, kind="gauge", meaning=meaning, samples=[Sample(value=value, labels={})])


def _of_backlog(found: Backlog) -> Iterator[Metric]:
    yield Metric(
        name="engage_queued_jobs", kind="gauge", meaning="Jobs that wait to be decided.",
        samples=[Sample(value=one.jobs.number, labels={"lane": one.lane}) for one in found.lanes],
    )  # fmt: skip
    yield Metric(
        name="engage_queue_late_seconds", kind="gauge", meaning="How long the first turn is overdue.",
        samples=[Sample(value=one.jobs.seconds_late, labels={"lane": one.lane}) for one in found.lanes],
    )  # fmt: skip
    yield _gauge("engage_enrollments_due", f"Enrollments that are due, {_LIMITED}.", found.enrollments.number)
    yield _gauge(
        "engage_enrollments_late_seconds", "By how much the first of them is overdue.", found.enrollments.seconds_late
    )
    yield _gauge("engage_webhooks_waiting", f"Webhooks that are due or will be, {_LIMITED}.", found.webhooks.number)
    yield _gauge(
        "engage_webhooks_late_seconds", "By how much the first of them is overdue.", found.webhooks.seconds_late
    )
    yield _gauge(
        "engage_webhook_circuits_open", "Hosts, and sources at hosts, to which nothing is sent.", found.open_circuits
    )
    yield _gauge(
        "engage_webhook_failing_seconds",
        "For how long the first of them has failed without a success.",
        found.seconds_failing,
    )
    held = {"guard": found.held.by_guard, "others": found.held.by_others}
    yield Metric(
        name="engage_journeys_held", kind="gauge", meaning="Journeys that are held, by themselves or by others.",
        samples=[Sample(value=number, labels={"by": who}) for who, number in held.items()],
    )  # fmt: skip
    yield _gauge("engage_webhook_hosts_held", "Hosts of workspaces that are held.", found.held.hosts)


def _of_counts(counts: Mapping[Name, int]) -> Iterator[Metric]:
    results = [{"result": result} for result in EnrollmentJob.Result.values]
    yield _counter("engage_jobs_decided_total", "Jobs by what was decided.", DECISIONS, results, counts)
    meaning = "Enrollments that ended because a step failed again and again."
    yield _counter("engage_enrollments_given_up_total", meaning, GIVEN_UP, [{}], counts)
    outcomes = [{"outcome": state.name.lower()} for state in NextState]
    yield _counter("engage_webhook_attempts_total", "Attempts by what came of them.", WEBHOOKS, outcomes, counts)
    meaning = "Calls that were limited by a process alone, because Redis was away."
    yield _counter("engage_limits_counted_in_process_total", meaning, LIMITS_ALONE, [{}], counts)
    meaning = "Entries into journeys that bridge calls did not start, because their address had started too many."
    yield _counter("engage_journeys_not_started_total", meaning, JOURNEYS_NOT_STARTED, [{}], counts)
    quotas = [{"quota": quota.value} for quota in Quota]
    meaning = "Bridge calls that were refused because their app had used up what it may do in a day."
    yield _counter("engage_app_quota_exceeded_total", meaning, APP_QUOTA, quotas, counts)
    kinds = [{"policy": policy, "reason": str(reason)} for policy in ("report", "enforce") for reason in Reason]
    meaning = "Bridge calls that ask for more than their message lists: let through (report), or refused (enforce)."
    yield _counter("engage_message_problems_total", meaning, MESSAGE_POLICY, kinds, counts)
    kinds = [{"identity": mode, "reason": str(reason)} for mode in ("report", "enforce") for reason in IdentityReason]
    meaning = "Bridge calls whose person no token proves: let through (report), or refused (enforce)."
    yield _counter("engage_identity_problems_total", meaning, IDENTITY, kinds, counts)
    meaning = "Messages in Redis that no worker could read."
    yield _counter("engage_messages_skipped_total", meaning, SKIPPED, [{}], counts)
    yield Metric(
        name="engage_http_request_seconds", kind="histogram", meaning="Time until an answer begins.",
        samples=_request_times(counts),
    )  # fmt: skip


def _counter(
    name: str, meaning: str, counted: str, labels: Sequence[Mapping[str, str]], counts: Mapping[Name, int]
) -> Metric:
    """A sample for each set of labels, from 0 on: an increase is only seen of a counter that was there before."""
    samples = [Sample(value=counts.get((counted, *one.values()), 0), labels=one) for one in labels]
    return Metric(name=name, kind="counter", meaning=meaning, samples=samples)


def _request_times(counts: Mapping[Name, int]) -> Iterator[Sample]:
    served = sorted({key[1:4] for key in counts if key[0] == REQUESTS})
    for kind in served:
        yield from histogram(
            labels=dict(zip(("method", "route", "status"), kind, strict=True)),
            bounds=BUCKETS,
            counts=[counts.get((REQUESTS, *kind, str(place)), 0) for place in range(len(BUCKETS) + 1)],
            total=counts.get((REQUESTS, *kind, SUM), 0) / MICROSECONDS,
        )
