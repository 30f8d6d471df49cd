"""What a text of a step comes to for one customer, with the payload that came last."""

from django.http import HttpRequest
from django.utils import timezone

from customers.models import Customer
from engage.errors import InvalidRequest, Refusal
from journeys.engine.entering.dry_runs import known_of
from journeys.journey.studio.trying import TryForm
from journeys.models import Journey, Trigger, Variable
from journeys.rendering import InvalidTemplate, RenderingFailed, parse_template
from journeys.steps.context import Occurrence, StepContext
from journeys.steps.surroundings import Surroundings

_LONGEST = 5_000


def previewed(journey: Journey, request: HttpRequest) -> str:
    """The text that is sent, rendered for the customer who is named. Raises InvalidRequest."""
    form = TryForm(journey, request)
    if not form.is_valid():
        raise InvalidRequest(" ".join(str(error) for errors in form.errors.values() for error in errors))
    try:
        template = parse_template(request.POST.get("text", "")[:_LONGEST])
        return template.render(_context(journey, form.cleaned_data["customer"]).rendering())[:_LONGEST]
    except (InvalidTemplate, RenderingFailed, Refusal) as why:
        raise InvalidRequest(f"It cannot be shown: {getattr(why, 'reason', why)}") from None


def _context(journey: Journey, customer: Customer) -> StepContext:
    latest = Trigger.objects.filter(workspace_id=journey.workspace_id, journey=journey).order_by("-serial")
    payload = latest.values_list("payload", flat=True).first() or {}
    variables = dict(Variable.objects.filter(workspace_id=journey.workspace_id).values_list("name", "value"))
    is_event = journey.trigger_type == Journey.TriggerType.EVENT
    return StepContext(
        journey_id=journey.id,
        journey_name=journey.name,
        enrollment_id="0" * 24,
        customer=known_of(customer),
        payload=payload,
        event=Occurrence(name=journey.event_name, properties=payload) if is_event else None,
        chain=0,
        now=timezone.now(),
        surroundings=Surroundings(variables=variables),
    )
