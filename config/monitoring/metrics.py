"""`/metrics` for Prometheus: the backlog, read from PostgreSQL, and the counters, read from Redis.

Every process answers for all processes on all machines: scrape one address. If PostgreSQL or Redis is away, its half
is missing, and `engage_postgresql_up` or `engage_redis_up` shows it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from secrets import compare_digest
from typing import TypedDict

import structlog
from django.conf import settings
from django.db import DatabaseError, NotSupportedError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page

from bridge.identity.problems import Reason as IdentityReason
from bridge.messages.problems import Reason
from config.monitoring.exposition import CONTENT_TYPE, Metric, Sample, exposition, histogram
from config.monitoring.presence import seconds_unseen
from config.monitoring.release import commit, version
from config.monitoring.storage import Storage, storage
from engage.database.outages import is_outage
from engage.errors import Refusal
from engage.http.authentication import Unauthorized
from engage.http.envelope import failure
from engage.http.limits import Quota
from engage.redis.availability import REDIS_FAILURES, redis_takes_writes
from engage.redis.metric_counters import (
    APP_QUOTA,
    BUCKETS,
    DECISION_WAITS,
    DECISIONS,
    EVENTS_MISSED,
    FIRST_ATTEMPT_WAITS,
    GIVEN_UP,
    IDENTITY,
    IN_APP,
    JOURNEYS_NOT_STARTED,
    LIMITS_ALONE,
    MESSAGE_POLICY,
    MICROSECONDS,
    REFUSALS,
    REQUESTS,
    SKIPPED,
    SUM,
    WAIT_BUCKETS,
    WEBHOOKS,
    WORKSPACE_REFUSALS,
    Name,
    all_counts,
    daily_counts,
    metric_counters,
)
from journeys.engine.entering.by_event import NotStarted
from journeys.engine.operations.backlog import COUNTED_AT_MOST, Backlog, backlog
from journeys.engine.webhooks.schedule import NextState
from journeys.models import Chunk, EnrollmentJob

log = structlog.get_logger(__name__)
_LIMITED = f"counted up to {COUNTED_AT_MOST}"
# So that the number of series has a bound, however many workspaces, calls and statuses there are.
_MOST_OF_WORKSPACES = 500
_ADMIN = "admin/"
_NONE = "none"  # as what has no route is told
_NOT_ALLOWED = "405"


@gzip_page
def metrics(request: HttpRequest) -> HttpResponse:
    """200 with the text format, compressed if asked; 401 without the token.

    If no token is set: open in development, else 404.
    """
    if not settings.METRICS_TOKEN:
        if settings.PRODUCTION:
            raise Http404
    elif not _has_token(request):
        return failure(Unauthorized("Send METRICS_TOKEN as a bearer token."))
    return HttpResponse(exposition(all_metrics()), content_type=CONTENT_TYPE)


def _has_token(request: HttpRequest) -> bool:
    sent = request.headers.get("Authorization", "")
    return compare_digest(sent.encode(), f"Bearer {settings.METRICS_TOKEN}".encode())


def all_metrics() -> Iterator[Metric]:
    """Everything, of all processes on all machines; without what a server tells that does not answer."""
    (answers, read), told = _of_postgresql(), _of_redis()
    yield Metric(
        name="engage_build_info", kind="gauge", meaning="The version of the process that answers.",
        samples=[Sample(value=1, labels={"version": version(), "commit": commit()})],
    )  # fmt: skip
    yield _gauge("engage_postgresql_up", "Whether PostgreSQL answers.", answers)
    meaning = (
        "Whether Redis answers and takes writes; if not, workers look for themselves and each process limits alone."
    )
    yield _gauge("engage_redis_up", meaning, redis_takes_writes())
    if read is not None:
        waiting, stored = read
        yield from _of_backlog(waiting)
        yield from _of_storage(stored)
    if told is not None:
        counts, refused, unseen = told
        yield from _of_counts(counts)
        yield from _of_refusals(counts, refused)
        yield Metric(
            name="engage_process_seen_seconds", kind="gauge",
            meaning="Seconds since a process of this kind was last seen; those of a day if none was.",
            samples=[Sample(value=seconds, labels={"process": kind}) for kind, seconds in unseen.items()],
        )  # fmt: skip


def _of_postgresql() -> tuple[bool, tuple[Backlog, Storage] | None]:
    """Whether PostgreSQL answers, and what it tells; None also if this version's tables do not exist."""
    try:
        return True, (backlog(), storage())
    except DatabaseError as error:
        connection.close()
        away = is_outage(error) or isinstance(error, NotSupportedError)  # one that is too old is as good as none
        if not away:
            log.exception("backlog_unreadable")
        return not away, None


def _of_redis() -> tuple[Mapping[Name, int], Mapping[Name, int], Mapping[str, float]] | None:
    """All counts, today's refusals by workspace, and how long each kind of process was not seen."""
    metric_counters.send()
    try:
        today = timezone.now().date()
        return all_counts(), daily_counts(WORKSPACE_REFUSALS, until=today, number=1), seconds_unseen()
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
    yield _gauge("engage_subscriptions_paused", "Subscriptions to which nothing is pushed.", found.subscriptions.paused)
    yield _gauge(
        "engage_subscription_failing_seconds",
        "For how long the first subscription that is not paused has taken nothing.",
        found.subscriptions.seconds_failing,
    )


def _of_storage(found: Storage) -> Iterator[Metric]:
    meaning = "The age of the oldest open transaction, prepared ones included."
    yield _gauge("engage_oldest_transaction_seconds", meaning, found.oldest_transaction_seconds)
    yield _gauge("engage_database_bytes", "What the database takes of its server's disk.", found.database_bytes)


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
    states = [{"state": state} for state in ("shown", "acted", "closed", "expired")]
    meaning = "What became of in-app messages that journeys have delivered."
    yield _counter("engage_in_app_deliveries_total", meaning, IN_APP, states, counts)
    meaning = "Messages in Redis that no worker could read."
    yield _counter("engage_messages_skipped_total", meaning, SKIPPED, [{}], counts)
    reasons = [{"reason": reason.value} for reason in NotStarted]
    meaning = "Events that started nothing in a journey that listens to their name."
    yield _counter("engage_events_missed_total", meaning, EVENTS_MISSED, reasons, counts)
    lanes = [{"lane": lane} for lane in Chunk.Lane.values]
    meaning = "From a call, or an event, until its job was decided."
    yield _waits("engage_decision_wait_seconds", meaning, DECISION_WAITS, lanes, counts)
    meaning = "From when a webhook is due until its first attempt leaves."
    yield _waits("engage_webhook_first_attempt_wait_seconds", meaning, FIRST_ATTEMPT_WAITS, [{}], counts)
    yield Metric(
        name="engage_http_request_seconds", kind="histogram", meaning="Time until an answer begins.",
        samples=_request_times(counts),
    )  # fmt: skip


def _of_refusals(counts: Mapping[Name, int], of_today: Mapping[Name, int]) -> Iterator[Metric]:
    codes = [{"code": code} for code in sorted({refusal.code for refusal in _subclasses(Refusal)})]
    yield _counter("engage_refusals_total", "Calls that were refused, or failed, by code.", REFUSALS, codes, counts)
    most = sorted(of_today.items(), key=lambda one: (-one[1], one[0]))[:_MOST_OF_WORKSPACES]
    yield Metric(
        name="engage_workspace_refusals_total", kind="counter",
        meaning=f"Of a workspace's keys and apps, since midnight UTC: the {_MOST_OF_WORKSPACES} greatest.",
        samples=[Sample(value=number, labels={"workspace": name[2], "code": name[3]}) for name, number in most],
    )  # fmt: skip


def _subclasses(kind: type[Refusal]) -> Iterator[type[Refusal]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _subclasses(one)


def _waits(
    name: str, meaning: str, counted: str, labels: Sequence[Mapping[str, str]], counts: Mapping[Name, int]
) -> Metric:
    samples = chain.from_iterable(
        histogram(labels=one, bounds=WAIT_BUCKETS, **_observed((counted, *one.values()), WAIT_BUCKETS, counts))
        for one in labels
    )
    return Metric(name=name, kind="histogram", meaning=meaning, samples=samples)


def _counter(
    name: str, meaning: str, counted: str, labels: Sequence[Mapping[str, str]], counts: Mapping[Name, int]
) -> Metric:
    """A sample for each set of labels, from 0 on: an increase is only seen of a counter that was there before."""
    samples = [Sample(value=counts.get((counted, *one.values()), 0), labels=one) for one in labels]
    return Metric(name=name, kind="counter", meaning=meaning, samples=samples)


def _request_times(counts: Mapping[Name, int]) -> Iterator[Sample]:
    """By the class of the status: with each status for itself, callers could make as many series as they like."""
    folded = Counter[Name]()
    for (what, *name), number in counts.items():
        if what == REQUESTS:
            folded[*_folded(*name[:3]), name[3]] += number
    for kind in sorted({key[:3] for key in folded}):
        labels = dict(zip(("method", "route", "status"), kind, strict=True))
        yield from histogram(labels=labels, bounds=BUCKETS, **_observed(kind, BUCKETS, folded))


def _folded(method: str, route: str, status: str) -> Name:
    """Pages of the admin are one route, and methods that their routes do not have one method of none."""
    if status == _NOT_ALLOWED:
        return "other", _NONE, "4xx"
    return method, _ADMIN if route.startswith(_ADMIN) else route, f"{status[0]}xx"


class _Observed(TypedDict):
    counts: list[int]
    total: float


def _observed(name: Name, bounds: Sequence[float], counts: Mapping[Name, int]) -> _Observed:
    """What a histogram's samples are made of: the counts of its buckets, and the seconds in all."""
    buckets = [counts.get((*name, str(place)), 0) for place in range(len(bounds) + 1)]
    return {"counts": buckets, "total": counts.get((*name, SUM), 0) / MICROSECONDS}
