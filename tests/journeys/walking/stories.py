"""What the tests of walking do again and again: enter a customer, let workers walk, read the history."""

from typing import Any

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment, Journey, StepRun
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory


def enter(server: ServerClient, journey: Journey, customer: Customer, **payload: Any) -> Enrollment:
    """Triggers the journey for the customer and lets the workers decide; the enrollment, which has not walked yet."""
    data(trigger(server, journey, {"customerId": customer.id, "payload": payload}))
    let_workers_decide()
    return Enrollment.objects.filter(customer=customer, journey=journey).latest("job")


def walked(server: ServerClient, workspace: Workspace, steps: list[Any], **payload: Any) -> Enrollment:
    """A new customer's enrollment in a new journey with these steps, walked to its first stop."""
    journey = JourneyFactory.create(workspace=workspace, steps=steps)
    enrollment = enter(server, journey, CustomerFactory.create(workspace=workspace), **payload)
    let_workers_walk()
    enrollment.refresh_from_db()
    return enrollment


def history(enrollment: Enrollment) -> list[tuple[str, str]]:
    """The step ids and states of the enrollment's history, in order."""
    runs = StepRun.objects.filter(enrollment=enrollment).order_by("ordinal")
    return [(run.step_id, run.state) for run in runs]
