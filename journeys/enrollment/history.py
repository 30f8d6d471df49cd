"""What journeys tell in a customer's timeline: entered, refused and why, moved, left, sent, seen, changed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q
from django.utils.html import format_html
from django.utils.safestring import SafeString

from customers.models import Customer
from engage.admin.parts.columns import badge, link, may_view, page_url
from engage.admin.parts.timeline import Asked, Source, Told, tell_on
from journeys.engine.enrollments.deliveries import DeliveryKind, SentDelivery, WantedDeliveries, deliveries_page
from journeys.faces.results import DELIVERY_STATE, IN_APP_STATE, JOB_RESULT, JOB_STATUS
from journeys.models import Enrollment, EnrollmentJob, InAppDelivery, Journey, StepRun, WebhookDelivery
from journeys.steps.secrets import url_without_secrets

_MOST_ENROLLMENTS = 500


def _journey(record: Any, asked: Asked) -> Any:
    return link(record.journey) if may_view(Journey, request=asked.request) else "a journey"


def _decided(customer: Customer, asked: Asked) -> Iterator[Told]:
    """By when they were queued, so that a page goes on where the last one ended."""
    since, before = (time and time.timestamp() * 1000 for time in (asked.since, asked.before))
    jobs = EnrollmentJob.objects.filter(workspace=customer.workspace_id, customer=customer)
    jobs = jobs if since is None else jobs.filter(queued_ms__gte=since)
    jobs = jobs if before is None else jobs.filter(queued_ms__lt=before)
    entered = Q(result__in=("", EnrollmentJob.Result.ENROLLED))
    jobs = jobs if "refused" in asked.kinds else jobs.filter(entered)
    jobs = jobs if "entered" in asked.kinds else jobs.exclude(entered)
    for job in jobs.order_by("-queued_ms").prefetch_related("journey", "enrollment")[: asked.most]:
        state = job.result or job.status
        has_entered = job.result in ("", EnrollmentJob.Result.ENROLLED)
        yield Told(
            at=datetime.fromtimestamp(job.queued_ms / 1000, UTC),
            kind="entered" if has_entered else "refused",
            what=format_html(
                "{} {}", _journey(job, asked), badge(state, JOB_RESULT.get(job.result) or JOB_STATUS[job.status])
            ),
            more=[job.reason, *(job.details or ())] if not has_entered else (),
            opens=page_url(job),
        )


def _left(customer: Customer, asked: Asked) -> Iterator[Told]:
    ended = Enrollment.objects.filter(customer=customer, ended_at__isnull=False, **asked.span("ended_at"))
    for one in ended.order_by("-ended_at").prefetch_related("journey")[: asked.most]:
        yield Told(
            at=one.ended_at or one.entered_at,
            kind="left",
            what=format_html("{} {}", _journey(one, asked), one.get_state_display().lower()),
            more=[one.exit_reason] if one.exit_reason else (),
            opens=page_url(one),
        )


def _moved(customer: Customer, asked: Asked) -> Iterator[Told]:
    """To another revision; of the latest enrollments alone."""
    moved = Enrollment.objects.filter(customer=customer, moves__isnull=False)
    for one in moved.order_by("-pk").prefetch_related("journey")[:_MOST_ENROLLMENTS]:
        for move in one.moves or ():
            at = datetime.fromisoformat(move["at"])
            if (asked.since is None or at >= asked.since) and (asked.before is None or at < asked.before):
                what = format_html("{} moved to revision {}", _journey(one, asked), move["to"])
                yield Told(at=at, kind="moved", what=what, more=[f"from revision {move['from']}"], opens=page_url(one))


def said_of(sent: SentDelivery) -> SafeString:
    """What was sent, and what became of it, in a line."""
    if sent.kind == DeliveryKind.WEBHOOK:
        state = badge(sent.state, DELIVERY_STATE[sent.state])
        return format_html("{} {} {} {}", sent.method, url_without_secrets(sent.url or ""), state, sent.result or "")
    return format_html("Message {} {} {}", sent.message, badge(sent.state, IN_APP_STATE[sent.state]), sent.result or "")


def _sent(kind: DeliveryKind) -> Any:
    def read(customer: Customer, asked: Asked) -> Iterator[Told]:
        page = deliveries_page(
            workspaces=[customer.workspace_id],
            wanted=WantedDeliveries(customer_id=customer.pk, kinds=(kind,), since=asked.since, before=asked.before),
            after=None,
            limit=asked.most,
        )
        for sent in page.deliveries:
            told = [sent.journey_name, sent.step_id] if may_view(Journey, request=asked.request) else [sent.step_id]
            yield Told(
                at=sent.at, kind="sent", what=said_of(sent), more=[", ".join(filter(None, told))], opens=page_of(sent)
            )

    return read


def page_of(sent: SentDelivery) -> str:
    """Of a message its own; of a webhook that of its enrollment, where the request and its attempts stand."""
    if sent.kind == DeliveryKind.IN_APP:
        return page_url(InAppDelivery(pk=sent.id))
    return f"{page_url(Enrollment(pk=sent.enrollment_id))}#timeline"


def _seen(customer: Customer, asked: Asked) -> Iterator[Told]:
    seen = InAppDelivery.objects.filter(customer=customer, shown_at__isnull=False, **asked.span("shown_at"))
    for one in seen.order_by("-shown_at")[: asked.most]:
        yield Told(
            at=one.shown_at or one.created_at, kind="seen", what=f"Message {one.message_id}", opens=page_url(one)
        )


def _changed(customer: Customer, asked: Asked) -> Iterator[Told]:
    """What steps wrote into the profile; of the latest enrollments alone."""
    ids = Enrollment.objects.filter(customer=customer).order_by("-pk").values_list("pk", flat=True)[:_MOST_ENROLLMENTS]
    wrote = StepRun.objects.filter(enrollment__in=list(ids), type="update_profile", **asked.span("began_at"))
    for run in wrote.order_by("-began_at").prefetch_related("enrollment__journey")[: asked.most]:
        yield Told(
            at=run.began_at,
            kind="changed",
            what=run.detail,
            more=[format_html("{}, {}", _journey(run.enrollment, asked), run.step_id)],
            opens=page_url(run.enrollment),
        )


tell_on(
    Customer,
    Source(model=EnrollmentJob, kinds=("entered", "refused"), read=_decided),
    Source(model=Enrollment, kinds=("left",), read=_left),
    Source(model=Enrollment, kinds=("moved",), read=_moved),
    Source(model=WebhookDelivery, kinds=("sent",), read=_sent(DeliveryKind.WEBHOOK)),
    Source(model=InAppDelivery, kinds=("sent",), read=_sent(DeliveryKind.IN_APP)),
    Source(model=InAppDelivery, kinds=("seen",), read=_seen),
    Source(model=Enrollment, kinds=("changed",), read=_changed),
)
