"""Try it: a customer's way through a journey as it is now, with what would be sent; and sending them through for real.

Trying writes and sends nothing. Sending queues the customer as a call by API does, or records the event that starts the
journey as a server would report it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

from customers.admin.search import customers_known_as
from customers.event_rules import MAX_EVENT_PROPERTIES_BYTES
from customers.identity.lookup import Reference
from customers.models import Customer
from engage.admin.parts.columns import badge, json_text, may_view, shown
from journeys.engine.entering.terms import Request
from journeys.engine.entering.trigger import ExcludedOne, Recipient, trigger_one
from journeys.engine.entering.walk_through import WalkThrough, walk_through
from journeys.engine.operations.redaction import without_values
from journeys.engine.walking.recording import ReportedEvent, record_reported_event
from journeys.faces.drawings import Drawing, Way, graph_of_revision, lit, noted
from journeys.faces.results import JOB_RESULT, STEP_STATE
from journeys.journey.payload_field import PayloadField
from journeys.models import Journey
from journeys.steps.kinds import COMPLETED, EXITED
from journeys.steps.payloads import example_of
from journeys.steps.rehearsal import Rehearsal, TimedRecord
from journeys.steps.results import WebhookRequest
from journeys.steps.secrets import url_without_secrets

_HEADERS = ["When", "Step", "State", "What it would come to"]


class TryForm(forms.Form):
    """Whom to try it with, and what would come with the trigger; both keep to the rules of a call."""

    customer = forms.CharField(
        max_length=255,
        widget=UnfoldAdminTextInputWidget(attrs={"class": "w-full"}),
        help_text="A customer's id, external id, e-mail address, phone number or user id.",
    )
    payload = PayloadField(most_bytes=MAX_EVENT_PROPERTIES_BYTES)

    def __init__(self, journey: Journey, request: HttpRequest) -> None:
        super().__init__(request.POST or None)
        self._journey, self._request = journey, request
        is_event = journey.trigger_type == Journey.TriggerType.EVENT
        self.fields["payload"].label = f"Properties of {journey.event_name!r}" if is_event else "Payload"
        self.fields["payload"].meet(journey.payload_schema)  # type: ignore[attr-defined]
        if journey.payload_schema is not None:
            self.fields["payload"].initial = example_of(journey.payload_schema)

    def clean_customer(self) -> Customer:
        known = customers_known_as(self.cleaned_data["customer"].strip(), self._request)
        found = Customer.objects.filter(
            workspace=self._journey.workspace_id,
            pk__in=[one.pk for one in known if one.workspace_id == self._journey.workspace_id],
        )
        match list(found[:2]):
            case [customer]:
                return customer
            case []:
                raise ValidationError("The journey's workspace has no such customer.")
        raise ValidationError("Several customers go by this; give an id.")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What would happen, ready for the template."""

    verdict: SafeString
    why: str
    details: tuple[str, ...]
    enters: bool
    drawing: Drawing | None
    table: dict[str, Any]
    ending: str


def may_try(request: HttpRequest) -> bool:
    """Whether this member of staff may see what a journey would do to a customer: it tells what is known of them."""
    return may_view(Journey, request=request) and may_view(Customer, request=request)


def may_send(journey: Journey, request: HttpRequest) -> bool:
    """Whether they may also send a customer through, as somebody with an API key could."""
    right = "customers.add_event" if journey.trigger_type == Journey.TriggerType.EVENT else "journeys.add_trigger"
    return may_try(request) and bool(request.user.has_perm(right))


def tried(journey: Journey, form: TryForm, *, request: HttpRequest, now: datetime) -> Trial:
    """The way of the form's customer if they were sent through now. Raises Refusal."""
    walk = walk_through(
        journey=journey, customer=form.cleaned_data["customer"], payload=form.cleaned_data["payload"], now=now
    )
    entry = walk.tried
    return Trial(
        verdict=badge(entry.result.value, JOB_RESULT[entry.result.value]),
        why=walk.why_not_started or entry.reason,
        details=tuple(entry.details),
        enters=walk.enters,
        drawing=_drawing(walk),
        table={"headers": _HEADERS, "rows": [_row(step, request=request) for step in walk.rehearsal.steps]},
        ending=walk.rehearsal.ending,
    )


def _drawing(walk: WalkThrough) -> Drawing | None:
    revision = walk.journey.revisions.get(number=walk.journey.revision)
    graph = graph_of_revision(revision)
    return lit(graph, _way(walk.rehearsal)) if graph else None


def _way(rehearsal: Rehearsal) -> Way:
    steps = [step for step in rehearsal.steps if not step.step_record.resumed]
    ended = rehearsal.ended
    end = None if ended is None and steps else EXITED if ended and ended.exited else COMPLETED
    return Way(
        steps=tuple(step.step_record.step_id for step in steps),
        end=end,
        notes={step.step_record.step_id: [noted(step.step_record.state, step.at)] for step in steps},
    )


def _row(step: TimedRecord, *, request: HttpRequest) -> list[Any]:
    record = step.step_record
    context = {
        "record": record,
        "request": _request(record.request, request=request) if record.request else None,
        "writes": json_text(record.writes) if record.writes else "",
        "event": record.tracked and f"{record.tracked.name} {json_text(record.tracked.properties)}",
    }
    return [
        shown(step.at),
        render_to_string("journeys/admin/timeline/step.html", {"run": record}),
        badge(record.state, STEP_STATE[record.state]),
        render_to_string("journeys/admin/timeline/would_come_to.html", context),
    ]


def _request(sent: WebhookRequest, *, request: HttpRequest) -> dict[str, Any] | None:
    """What would be sent, as staff may see it of what was sent."""
    if not request.user.has_perm("journeys.view_webhookdelivery"):
        return None
    headers = without_values(sent.headers)
    return {
        "line": f"{sent.method} {url_without_secrets(sent.url)}",
        "headers": list(headers.items()),
        "body": sent.body or "",
    }


def sent(journey: Journey, form: TryForm) -> str:
    """Sends the form's customer through; what was done, without anything of theirs. Raises Refusal."""
    customer, payload = form.cleaned_data["customer"], form.cleaned_data["payload"]
    if journey.trigger_type == Journey.TriggerType.EVENT:
        event = ReportedEvent(
            customer=Reference("id", customer.id), name=journey.event_name, properties=payload, occurred_at=None
        )
        recorded = record_reported_event(workspace_id=journey.workspace_id, event=event)
        return f"Recorded the event {recorded.event_id} by hand."
    request = Request(workspace_id=journey.workspace_id, journey_id=journey.id, payload=payload)
    queued = trigger_one(request, Recipient("customerId", customer.id))
    assert not isinstance(queued, ExcludedOne)  # nobody is
    return f"Sent through by hand, by the trigger {queued.trigger_id}."
