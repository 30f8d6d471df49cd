"""Rows of every kind for the admin's pages, and the addresses of these pages."""

import re
from itertools import count
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.utils import timezone
from django.utils.html import strip_tags

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.admin.records import ReadOnlyAdmin, RecordAdmin
from engage.models import App, Workspace
from journeys.models import (
    Chunk,
    Enrollment,
    EnrollmentJob,
    Journey,
    JourneyRevision,
    Trigger,
    TriggerProgress,
    WebhookSecret,
)
from tests.factories import ApiKeyFactory, AppFactory, CustomerFactory, JourneyFactory, SegmentFactory

admin.autodiscover()
MODELS = [
    model
    for model in apps.get_models()
    if admin.site.is_registered(model) and isinstance(admin.site.get_model_admin(model), RecordAdmin)
]
READ_ONLY = [model for model in MODELS if isinstance(admin.site.get_model_admin(model), ReadOnlyAdmin)]


def named(model: type[Model]) -> str:
    """The model's name, for the names of tests."""
    return model.__name__


def populate(workspace: Workspace, *, rows: int, journeys: int = 1) -> list[Customer]:
    """So many customers, each with one of everything, and more of what staff make."""
    customers = CustomerFactory.create_batch(rows, workspace=workspace)
    ways = JourneyFactory.create_batch(journeys, workspace=workspace)
    apps_ = AppFactory.create_batch(rows, workspace=workspace)
    ApiKeyFactory.create_batch(rows, workspace=workspace)
    SegmentFactory.create_batch(rows - 1, workspace=workspace)
    SegmentFactory.create(workspace=workspace, members=customers)
    for retires_at in [None] * (not WebhookSecret.objects.filter(workspace=workspace).exists()) + [
        timezone.now()
    ] * rows:
        WebhookSecret.objects.create(workspace=workspace, secret="whsec_", retires_at=retires_at)
    for number, customer in enumerate(customers):
        live_through(customer, journey=ways[number % journeys], app=apps_[number])
    return customers


def live_through(customer: Customer, *, journey: Journey, app: App) -> Enrollment:
    """The customer clicks in the app, which makes an event, which triggers the journey, which enrolls them."""
    now, workspace = timezone.now(), customer.workspace
    event = Event.objects.create(workspace=workspace, customer=customer, name="paid", source="api", occurred_at=now)
    Interaction.objects.create(
        workspace=workspace, app=app, customer=customer, event=event, message_id="m-1", kind=Interaction.Kind.LINK
    )
    trigger = Trigger.objects.create(
        workspace=workspace, journey=journey, form="single", event=event, customers=1, queued_at=now, request_id="r"
    )
    TriggerProgress.objects.create(workspace=workspace, trigger=trigger, status="decided", result="enrolled", jobs=1)
    Chunk.objects.create(workspace=workspace, trigger=trigger, start=0, stop=1, lane="single", turn_at=now, due_at=now)
    return Enrollment.objects.create(
        workspace=workspace,
        journey=journey,
        customer=customer,
        revision=JourneyRevision.objects.get(journey=journey),
        job=queue_job(trigger, customer),
        state=Enrollment.State.COMPLETED,
        entered_at=now,
    )


_numbers = count()


def queue_job(trigger: Trigger, customer: Customer, **fields: Any) -> EnrollmentJob:
    """One more job of the trigger."""
    number = next(_numbers)
    return EnrollmentJob.objects.create(
        workspace_id=trigger.workspace_id,
        journey_id=trigger.journey_id,
        customer=customer,
        trigger=trigger,
        ordinal=number,
        queued_ms=1_700_000_000_000 + number,
        **fields,
    )


def cells(page: str, column: str) -> list[str]:
    """The texts of one column of a list, from top to bottom."""
    found = re.findall(rf'<t[hd] class="field-{column} [^>]*>(.*?)</t[hd]>', page, re.DOTALL)
    return [strip_tags(cell).strip() for cell in found]


def list_of(model: type[Model]) -> str:
    """The address of the model's list."""
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
