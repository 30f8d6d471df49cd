"""Rows of every kind in a workspace, all connected."""

from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from bridge.models import Interaction
from customers.models import (
    Alias,
    Consent,
    ConsentAct,
    ContactRing,
    ContactRules,
    Customer,
    Event,
    Suppression,
)
from engage.audit.recording import Change, record
from engage.database.object_ids import new_object_id
from engage.models import App, AuditEntry, FeedBatch, IdempotencyRecord, IdentityKey, Membership, Workspace
from journeys.models import (
    Chunk,
    Connection,
    Count,
    CountDelta,
    CountKind,
    Draw,
    Enrollment,
    EnrollmentJob,
    GoalWatch,
    GuardedResults,
    InAppDelivery,
    Journey,
    JourneyDraft,
    JourneyRevision,
    Push,
    SteeredHost,
    SteeringAct,
    StepRun,
    Subscription,
    Trigger,
    TriggerProgress,
    UnknownExternalId,
    Variable,
    WebhookAttempt,
    WebhookCircuit,
    WebhookDelivery,
    WebhookHost,
    WebhookSecret,
)
from tests.support.factories import (
    ApiKeyFactory,
    AppFactory,
    CustomerFactory,
    JourneyFactory,
    MessageFactory,
    SegmentFactory,
)
from tests.support.one_of_each_kind import define_each_kind


def populate(workspace: Workspace, *, rows: int, journeys: int = 1) -> list[Customer]:
    """So many customers, each with one of everything, and more of what staff make."""
    customers = CustomerFactory.create_batch(rows, workspace=workspace)
    entered = JourneyFactory.create_batch(journeys, workspace=workspace)
    apps_ = AppFactory.create_batch(rows, workspace=workspace)
    ApiKeyFactory.create_batch(rows, workspace=workspace)
    for _ in range(rows):
        staff = User.objects.create_user(f"staff-{workspace.key}-{User.objects.count()}", is_staff=True)
        Membership.objects.create(user=staff, workspace=workspace, role=Membership.Role.VIEWER)
    SegmentFactory.create_batch(rows - 1, workspace=workspace)
    SegmentFactory.create(workspace=workspace, members=customers)
    for customer in customers:
        record(Change(action=AuditEntry.Action.ERASED, workspace_id=workspace.id, kind="customer", id=customer.id))
    if not WebhookSecret.objects.filter(workspace=workspace).exists():
        WebhookSecret.objects.create(workspace=workspace, secret="whsec_")
    for _ in range(rows):
        WebhookSecret.objects.create(workspace=workspace, secret="whsec_", retires_at=timezone.now())
    for app in apps_:
        MessageFactory.create(workspace=workspace, actions=[{"id": "x", "type": "close"}])
        IdentityKey.objects.create(workspace=workspace, app=app, kid="k1", alg="HS256", secret="s" * 32)
    for number, customer in enumerate(customers):
        FeedBatch.objects.create(workspace=workspace, type="customer.erased", size=1, customer_ids=[customer.id])
        Alias.objects.create(workspace=workspace, customer=customer, user_id=f"anon-{customer.id}")
        live_through(customer, journey=entered[number % journeys], app=apps_[number])
    define_each_kind(workspace, name="sale")
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
    UnknownExternalId.objects.create(workspace=workspace, trigger=trigger, excluded=False, place=1, external_id="x")
    Chunk.objects.create(workspace=workspace, trigger=trigger, start=0, stop=1, lane="single", turn_at=now, due_at=now)
    SteeringAct.objects.create(
        workspace=workspace, journey=journey, trigger=trigger, kind=SteeringAct.Kind.CANCEL, actor="root", at=now
    )
    SteeredHost.objects.get_or_create(workspace=workspace, host=f"{customer.pk}.example:443")
    Connection.objects.get_or_create(
        workspace=workspace, key=f"of-{customer.pk}", name="Mailer", definition={"url": "https://a.example/"}
    )
    JourneyDraft.objects.get_or_create(
        workspace=workspace, journey=journey, defaults={"revision": 1, "written_by": "root", "updated_at": now}
    )
    Variable.objects.get_or_create(workspace=workspace, name=f"of_{customer.pk}", value="Garden")
    subscription, _ = Subscription.objects.get_or_create(
        workspace=workspace, key=f"of-{customer.pk}", url="https://a.example/"
    )
    Push.objects.create(workspace=workspace, subscription=subscription, size=1)
    InAppDelivery.objects.create(
        workspace=workspace, customer=customer, journey_id=journey.pk, revision_id=1, enrollment_id=new_object_id(),
        ordinal=0, step_id="offer", message_id="m-1", expires_at=now,
    )  # fmt: skip
    GoalWatch.objects.create(
        workspace=workspace, customer=customer, journey_id=journey.pk, revision_id=1, enrollment_id=new_object_id(),
        goal="bought", event_name="paid", until=now,
    )  # fmt: skip
    contact(customer)
    Draw.objects.get_or_create(workspace=workspace, customer=customer, journey_id=journey.pk, held_out=False)
    return Enrollment.objects.create(
        workspace=workspace,
        journey=journey,
        customer=customer,
        revision=JourneyRevision.objects.get(journey=journey),
        job=queue_job(trigger, customer),
        state=Enrollment.State.COMPLETED,
        entered_at=now,
    )


def contact(customer: Customer) -> None:
    """They have opted out of offers by e-mail, which were sent them once, and their address is suppressed."""
    now, workspace = timezone.now(), customer.workspace
    about: dict[str, Any] = {"workspace": workspace, "customer": customer, "topic": "offers", "channel": "email"}
    out = {**about, "state": "unsubscribed"}
    ContactRules.objects.get_or_create(workspace=workspace, defaults={"digest_key": "k"})
    ConsentAct.objects.create(**out, occurred_at=now, source=ConsentAct.Source.API)
    Consent.objects.update_or_create(**about, defaults={"state": "unsubscribed", "since": now})
    ContactRing.objects.update_or_create(workspace=workspace, customer=customer, cap="week", defaults={"times": [now]})
    Suppression.objects.get_or_create(
        workspace=workspace, channel="email", digest=f"{customer.pk:0>64}", masked="a…@example.com", reason="manual"
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


def one_of_everything(workspace: Workspace) -> Enrollment:
    """The enrollment, with everything that leads to it and hangs on it."""
    populate(workspace, rows=1)
    now, enrollment = timezone.now(), Enrollment.objects.get(workspace=workspace)
    assert enrollment.job
    enrollment.event = enrollment.job.trigger.event
    enrollment.save()
    StepRun.objects.create(
        workspace=workspace, enrollment=enrollment, ordinal=0, step_id="call", type="webhook",
        state=StepRun.State.DONE, event=enrollment.event, began_at=now, ended_at=now,
    )  # fmt: skip
    delivery = WebhookDelivery.objects.create(
        workspace=workspace, enrollment=enrollment, ordinal=0, host="a.example:443", method="POST",
        url="https://a.example/", state=WebhookDelivery.State.DELIVERED, due_at=now,
    )  # fmt: skip
    WebhookAttempt.objects.create(
        workspace=workspace, delivery=delivery, number=1, at=now, milliseconds=12, status=200, answer="", error=""
    )
    WebhookHost.objects.create(workspace=workspace, host="a.example:443")
    WebhookCircuit.objects.create(workspace=workspace, host="a.example:443", source="step:a:b")
    digests = {"call_digest": b"c" * 32, "body_digest": b"b" * 32}
    key, app = ApiKeyFactory.create(workspace=workspace), AppFactory.create(workspace=workspace)
    IdempotencyRecord.objects.create(workspace=workspace, api_key=key, **digests, status=202, body="{}")
    IdempotencyRecord.objects.create(workspace=workspace, app=app, **digests, status=200, body="{}")
    counted = {"workspace": workspace, "journey": enrollment.journey, "kind": CountKind.ENTRY, "name": "enrolled"}
    CountDelta.objects.create(**counted, revision_id=0, hour=now, number=1)
    steered = {"workspace": workspace, "journey": enrollment.journey}
    SteeringAct.objects.create(
        **steered, trigger=enrollment.job.trigger, kind=SteeringAct.Kind.CANCEL, actor="A", at=now
    )
    GuardedResults.objects.create(**steered, latest="01")
    Count.objects.create(**counted, revision_id=0, grain=Count.Grain.ALL, begin=now, number=1)
    return enrollment
