"""Which data of journeys may be deleted once it is old enough, without changing any decision.

Nothing is deleted that is active or waits, or that something active or waiting needs. A completed enrollment counts for
the entry rules for ever: only its history and its job are deleted. An exited one counts for nothing. A trigger goes
with its last job, and until then keeps the payload that an active enrollment may render.
"""

from datetime import datetime, timedelta

from django.db.models import Q

from engage.database.pruning import Prunable
from journeys.models import Push, WebhookCircuit, WebhookHost, WebhookSecret

_CIRCUIT_KEPT = timedelta(days=2)  # a host that is still called is called again within a day

_ENDED = """
EXISTS (
    SELECT FROM journeys_enrollment enrollment
    WHERE enrollment.id = old.enrollment_id AND enrollment.state <> 'active' AND enrollment.ended_at < %(before)s
)
"""

# A goal that may yet be reached is counted by what its enrollment has gone through.
_NOT_WATCHED = """
NOT EXISTS (
    SELECT FROM journeys_goalwatch watch
    WHERE watch.enrollment_id = {enrollment} AND watch.reached_at IS NULL AND watch.until > now()
)
"""

STEP_RUNS = Prunable(
    what="step runs",
    table="journeys_steprun",
    key=("enrollment_id", "ordinal"),
    may_go=f"{_ENDED} AND {_NOT_WATCHED.format(enrollment='old.enrollment_id')}",
)

# Their attempts go with them. One may wait although its enrollment has ended: staff may have asked to send it again.
DELIVERIES = Prunable(
    what="webhook deliveries",
    table="journeys_webhookdelivery",
    key=("enrollment_id", "ordinal"),
    may_go=f"old.state NOT IN ('waiting', 'held') AND {_ENDED}",
)

IN_APP_DELIVERIES = Prunable(
    what="in-app deliveries",
    table="journeys_inappdelivery",
    key=("id",),
    may_go="old.ended_at < %(before)s",
)

RESENDINGS = Prunable(
    what="requests to send webhooks again",
    table="journeys_resending",
    key=("id",),
    may_go="old.ended_at < %(before)s",
)

EXITED_ENROLLMENTS = Prunable(
    what="exited enrollments",
    table="journeys_enrollment",
    key=("id",),
    may_go=f"""
    old.state = 'exited' AND old.ended_at < %(before)s
    AND NOT EXISTS (
        SELECT FROM journeys_webhookdelivery delivery
        WHERE delivery.enrollment_id = old.id AND delivery.state IN ('waiting', 'held')
    )
    AND {_NOT_WATCHED.format(enrollment="old.id")}
    """,
)

GOAL_WATCHES = Prunable(what="goals watched", table="journeys_goalwatch", key=("id",), may_go="old.until < %(before)s")

_JOB_MAY_GO = """
{job}.status <> 'queued' AND {job}.decided_at < %(before)s AND NOT EXISTS (
    SELECT FROM journeys_enrollment enrollment WHERE enrollment.job_id = {job}.id AND enrollment.state = 'active'
)
"""

JOBS = Prunable(
    what="jobs",
    table="journeys_enrollmentjob",
    key=("trigger_id", "ordinal"),
    may_go=_JOB_MAY_GO.format(job="old"),
)

TRIGGERS = Prunable(
    what="triggers",
    table="journeys_trigger",
    key=("id",),
    may_go=f"""
    old.queued_at < %(before)s
    AND NOT EXISTS (SELECT FROM journeys_chunk chunk WHERE chunk.trigger_id = old.id)
    AND NOT EXISTS (
        SELECT FROM journeys_enrollmentjob job
        WHERE job.trigger_id = old.id AND NOT ({_JOB_MAY_GO.format(job="job")})
    )
    """,
)

# Templates of an active enrollment may refer to the event, as may the conditions of a journey that it is to start.
# What happens while a job is scheduled may end the journey for its customer as it is due.
EVENTS = Prunable(
    what="events",
    table="customers_event",
    key=("id",),
    may_go="""
    old.created_at < %(before)s
    AND NOT EXISTS (
        SELECT FROM journeys_enrollment enrollment WHERE enrollment.event_id = old.id AND enrollment.state = 'active'
    )
    AND NOT EXISTS (
        SELECT FROM journeys_trigger sent JOIN journeys_chunk chunk ON chunk.trigger_id = sent.id
        WHERE sent.event_id = old.id
    )
    AND NOT (
        EXISTS (SELECT FROM journeys_chunk WHERE lane = 'scheduled')
        AND EXISTS (
            SELECT FROM journeys_enrollmentjob job
            WHERE job.customer_id = old.customer_id AND job.status = 'queued' AND job.scheduled_for IS NOT NULL
        )
    )
    """,
)

FEED = Prunable(what="parts of the feed", table="engage_feedbatch", key=("id",), may_go="old.at < %(before)s")


def prune_pushes(*, before: datetime, dry_run: bool) -> int:
    """Deletes what was pushed before; what waits goes with its subscription, or ends once its events are gone.

    A dry run only counts it. One request has up to a hundred events, so there are few.
    """
    ended = Push.objects.exclude(state=Push.State.WAITING).filter(due_at__lt=before)
    return ended.count() if dry_run else ended.delete()[0]


def prune_retired_secrets(*, now: datetime, dry_run: bool) -> int:
    """Deletes the webhook secrets that no longer sign anything; a dry run only counts them. There are few."""
    retired = WebhookSecret.objects.filter(retires_at__lte=now)
    return retired.count() if dry_run else retired.delete()[0]


def prune_idle_circuits(*, now: datetime, dry_run: bool) -> int:
    """Deletes the circuits of hosts and sources that kept failing and that nobody calls any more.

    A dry run only counts them.
    """
    long_ago = now - _CIRCUIT_KEPT
    idle = Q(open_until__isnull=True) | Q(open_until__lt=long_ago), Q(failing_since__lt=long_ago)
    circuits = [kind.objects.filter(*idle) for kind in (WebhookHost, WebhookCircuit)]
    return sum(one.count() if dry_run else one.delete()[0] for one in circuits)
