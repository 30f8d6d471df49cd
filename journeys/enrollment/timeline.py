"""The timeline on an enrollment's page: each step with its reasons, and each webhook with its attempts.

It takes the same queries for every history, and one more where messages were delivered; a long one shows only its
latest steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import prefetch_related_objects
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from engage.admin.parts.columns import badge, column_of, linked_fields, may_view, moment, sees_people, shown
from journeys.engine.enrollments.history import EnrollmentHistory, RunWithWebhook, enrollment_history
from journeys.engine.operations.redaction import without_values
from journeys.engine.webhooks.waiting import Waiting, waiting
from journeys.enrollment.way import drawing_of
from journeys.faces.drawings import Drawing
from journeys.faces.results import DELIVERY_STATE, IN_APP_STATE, STEP_STATE
from journeys.models import Enrollment, InAppDelivery, Journey, StepRun, WebhookAttempt, WebhookDelivery
from journeys.steps.in_app import InApp
from journeys.steps.secrets import url_without_secrets

STEPS_SHOWN = 200
_HEADERS = ["Began", "Step", "State", "What it came to", "Ended"]
_ATTEMPT_HEADERS = ["Attempt", "At", "Status", "Took", "Answer", "Error"]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """An enrollment's history, ready for the template; `earlier` is the number of steps left out."""

    standing: str
    drawing: Drawing | None
    table: dict[str, Any]
    earlier: int


@dataclass(frozen=True, kw_only=True)
class _Staff:
    """What the viewing member of staff may see and do."""

    event: Any  # the column for the event that a step recorded or waited for; None: not shown
    sees_values: bool
    sees_requests: bool
    sends_again: bool


def timeline_of(enrollment: Enrollment, *, request: HttpRequest) -> Timeline:
    """The history as this member of staff may see it: requests and answers may contain a customer's data."""
    history = enrollment_history(
        workspace_id=enrollment.workspace_id,
        enrollment_id=enrollment.id,
        after=enrollment.steps_begun - STEPS_SHOWN - 1,
        limit=STEPS_SHOWN,
    )
    steps, read = history.steps, history.state.enrollment
    latest = steps[-1].delivery if steps else None
    waits = waiting([latest.id]).get(latest.id) if latest and latest.waits else None
    may = request.user.has_perm
    staff = _Staff(
        event=column_of(StepRun, "event", request=request),
        sees_values=sees_people(request),
        sees_requests=may("journeys.view_webhookdelivery") and sees_people(request),
        sends_again=may("journeys.change_webhookdelivery"),
    )
    prefetch_related_objects([step.run for step in steps], *linked_fields([staff.event]))
    messages = _messages_of([step.run for step in steps]) if may_view(InAppDelivery, request=request) else {}
    return Timeline(
        standing=standing_of(read, delivery=latest, waits=waits, with_reason=staff.sees_values),
        drawing=drawing_of(history) if may_view(Journey, request=request) else None,
        table={"headers": _HEADERS, "rows": list(_rows(history, staff, messages))},
        earlier=steps[0].run.ordinal if steps else 0,
    )


def standing_of(
    enrollment: Enrollment, *, delivery: WebhookDelivery | None, waits: Waiting | None = None, with_reason: bool = True
) -> str:
    """Where the enrollment is and when it goes on, in words; `delivery` is that of its latest step, if it has one."""
    if enrollment.state != Enrollment.State.ACTIVE:
        ended = f"{enrollment.get_state_display()} at {shown(enrollment.ended_at)}"
        return f"{ended}: {enrollment.exit_reason}" if enrollment.exit_reason and with_reason else f"{ended}."
    if enrollment.was_due_at is not None:
        since = shown(enrollment.was_due_at)
        return f"Stands at {enrollment.step_id}, due since {since}: its journey is held, or releases it in its turn."
    if enrollment.error:
        how_often = "once" if enrollment.attempts == 1 else f"{enrollment.attempts} times"
        return (
            f"Stands at {enrollment.step_id}, where going on failed {how_often}, lastly with: "
            f"{enrollment.error} It is tried again at {shown(enrollment.due_at)}."
        )
    return _place(enrollment, delivery, waits)


def _place(enrollment: Enrollment, delivery: WebhookDelivery | None, waits: Waiting | None) -> str:
    step, due = enrollment.step_id, shown(enrollment.due_at)
    if enrollment.step_began_at is None:
        return f"Is about to begin {step}, due at {due}."
    if enrollment.awaits_event:
        return f"Waits in {step} for the event {enrollment.awaits_event}, until {due}."
    if enrollment.watches_until is not None:
        return f"Waits in {step} for its condition, until {shown(enrollment.watches_until)}."
    if enrollment.due_at is not None:
        return f"Waits in {step} until {due}."
    if delivery is not None and waits is not None:
        at = (
            f"attempt {delivery.attempts + 1} is due at {shown(waits.next_attempt_at)}."
            if waits.next_attempt_at
            else ""
        )
        return f"Sends the webhook of {step}; {at} {waits.because}".strip()
    if delivery is not None and delivery.state == WebhookDelivery.State.HELD:
        return f"Stands at {step}, whose webhook waits: its journey is held, or releases it in its turn."
    return f"Sends the webhook of {step}."


def _messages_of(runs: Sequence[StepRun]) -> Mapping[int, InAppDelivery]:
    """What the steps have delivered to be shown, by the place in the history; nothing is asked where no step could."""
    places = [run.ordinal for run in runs if run.type == InApp.type and run.state == StepRun.State.DONE]
    found = InAppDelivery.objects.filter(enrollment_id=runs[0].enrollment_id, ordinal__in=places) if places else ()
    return {one.ordinal: one for one in found}


def _rows(history: EnrollmentHistory, staff: _Staff, messages: Mapping[int, InAppDelivery]) -> Iterator[dict[str, Any]]:
    """A row for each step, and after the steps that it had begun one for each move to another revision."""
    after: dict[int, list[dict[str, Any]]] = {}
    for move in history.state.enrollment.moves or ():
        after.setdefault(move["stepsBegun"], []).append(_move(move))
    if not history.steps or history.steps[0].run.ordinal == 0:
        yield from after.get(0, ())
    for step in history.steps:
        yield _row(step, staff, messages)
        yield from after.get(step.run.ordinal + 1, ())


def _move(move: Mapping[str, Any]) -> dict[str, Any]:
    told = f"Went on in revision {move['to']}; before, it was in revision {move['from']}."
    return {"cols": [moment(datetime.fromisoformat(move["at"])), "-", badge("moved", "info"), told, "-"]}


def _row(step: RunWithWebhook, staff: _Staff, messages: Mapping[int, InAppDelivery]) -> dict[str, Any]:
    run = step.run
    row: dict[str, Any] = {
        "cols": [
            moment(run.began_at),
            _rendered("step", run=run),
            badge(run.state, STEP_STATE[run.state]),
            _came_to(step, staff, messages.get(run.ordinal)),
            moment(run.ended_at) or "-",
        ]
    }
    if step.attempts and staff.sees_requests:
        row["table"] = {"headers": _ATTEMPT_HEADERS, "rows": [_attempt(attempt) for attempt in step.attempts]}
    return row


def _came_to(step: RunWithWebhook, staff: _Staff, message: InAppDelivery | None) -> SafeString:
    delivery = step.delivery
    if delivery is None:
        because = step.run.because if staff.sees_values else None
        event = staff.event(step.run) if staff.event else None
        became = _transitions(message) if message else []
        return _rendered("came_to", run=step.run, because=because, event=event, message=message, became=became)
    return _rendered(
        "came_to",
        run=step.run,
        delivery=delivery,
        delivery_state=badge(delivery.state, DELIVERY_STATE[delivery.state]),
        sees_request=staff.sees_requests,
        url=url_without_secrets(delivery.url),
        headers=list(without_values(delivery.readable_headers).items()),  # `headers.items` may be one of them
        may_send_again=staff.sends_again and delivery.state == WebhookDelivery.State.FAILED,
    )


def _transitions(message: InAppDelivery) -> list[tuple[SafeString, SafeString | None, str]]:
    """Each state that the delivery has come to, when, and by what."""
    states = InAppDelivery.State
    told: list[tuple[str, Any, str]] = [(states.DUE, message.created_at, f"until {shown(message.expires_at)}")]
    if message.shown_at:
        told.append((states.SHOWN, message.shown_at, ""))
    if message.ended_at:
        told.append((message.state, message.ended_at, message.action_id or message.because))
    return [(badge(state, IN_APP_STATE[state]), moment(at), by) for state, at, by in told]


def _attempt(attempt: WebhookAttempt) -> list[Any]:
    return [
        attempt.number,
        moment(attempt.at),
        attempt.status if attempt.status is not None else "-",
        f"{attempt.milliseconds:,} ms",
        _rendered("answer", text=attempt.answer),
        attempt.error or "-",
    ]


def _rendered(cell: str, **context: Any) -> SafeString:
    return render_to_string(f"journeys/admin/timeline/{cell}.html", context)
