"""The state of one enrollment, and the history of its steps, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, OuterRef, Subquery, Window
from django.db.models.functions import Coalesce, RowNumber

from engage.errors import Refusal
from engage.object_ids import is_object_id
from journeys.models import Enrollment, StepRun, WebhookAttempt, WebhookDelivery

# A limit is needed because staff may send a webhook again as often as they like.
MOST_ATTEMPTS = 20


class EnrollmentNotFound(Refusal):
    """No such enrollment in the workspace."""

    status = 404
    error = "Enrollment not found"
    code = "enrollment_not_found"

    def __init__(self, enrollment_id: str) -> None:
        super().__init__(f"There is no enrollment {enrollment_id[:100]!r} in this workspace.")


@dataclass(frozen=True, kw_only=True)
class EnrollmentState:
    """An enrollment with its journey, revision and job loaded; `goes_on_at` is None if nothing is due."""

    enrollment: Enrollment
    goes_on_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class RecordedStep:
    """A step of the history; a webhook step has its delivery and the latest attempts, oldest first."""

    run: StepRun
    delivery: WebhookDelivery | None
    attempts: Sequence[WebhookAttempt]


@dataclass(frozen=True, kw_only=True)
class HistoryPage:
    """Steps in order; `last` is the ordinal of the last one if more follow, otherwise None."""

    steps: Sequence[RecordedStep]
    last: int | None


def enrollment_state(*, workspace_id: str, enrollment_id: str) -> EnrollmentState:
    """Raises EnrollmentNotFound. While it waits for a webhook, `goes_on_at` is when that is next attempted."""
    sending = WebhookDelivery.objects.filter(
        enrollment_id=OuterRef("id"), ordinal=OuterRef("steps_begun") - 1, state=WebhookDelivery.State.WAITING
    )
    own = Enrollment.objects.filter(workspace_id=workspace_id).select_related("journey", "revision", "job")
    read = own.defer("revision__steps", "revision__exit_on", "journey__entry_conditions").annotate(
        goes_on_at=Coalesce("due_at", Subquery(sending.values("due_at")))
    )
    enrollment = read.filter(id=enrollment_id).first() if is_object_id(enrollment_id) else None
    if enrollment is None:
        raise EnrollmentNotFound(enrollment_id)
    is_active = enrollment.state == Enrollment.State.ACTIVE
    return EnrollmentState(enrollment=enrollment, goes_on_at=enrollment.goes_on_at if is_active else None)


def history_page(enrollment: Enrollment, *, after: int, limit: int) -> HistoryPage:
    """At most `limit` steps after this ordinal, in three statements."""
    own = StepRun.objects.filter(workspace_id=enrollment.workspace_id, enrollment_id=enrollment.id)
    runs = list(own.filter(ordinal__gt=after).order_by("ordinal")[: limit + 1])
    shown = runs[:limit]
    deliveries = _deliveries(enrollment, [run.ordinal for run in shown])
    attempts = _attempts(list(deliveries.values()))
    return HistoryPage(
        steps=[_recorded(run, deliveries.get(run.ordinal), attempts) for run in shown],
        last=shown[-1].ordinal if len(runs) > limit else None,
    )


def _recorded(
    run: StepRun, delivery: WebhookDelivery | None, attempts: dict[int, list[WebhookAttempt]]
) -> RecordedStep:
    return RecordedStep(run=run, delivery=delivery, attempts=attempts.get(delivery.id, []) if delivery else [])


def _deliveries(enrollment: Enrollment, ordinals: Sequence[int]) -> dict[int, WebhookDelivery]:
    own = WebhookDelivery.objects.filter(workspace_id=enrollment.workspace_id, enrollment_id=enrollment.id)
    return {delivery.ordinal: delivery for delivery in own.filter(ordinal__in=ordinals)}


def _attempts(deliveries: Sequence[WebhookDelivery]) -> dict[int, list[WebhookAttempt]]:
    """The latest attempts at each delivery, oldest first."""
    latest_first = Window(RowNumber(), partition_by="delivery_id", order_by=F("number").desc())
    made = WebhookAttempt.objects.filter(delivery__in=[delivery.id for delivery in deliveries])
    found: dict[int, list[WebhookAttempt]] = {}
    for attempt in made.alias(place=latest_first).filter(place__lte=MOST_ATTEMPTS).order_by("delivery_id", "number"):
        found.setdefault(attempt.delivery_id, []).append(attempt)
    return found
