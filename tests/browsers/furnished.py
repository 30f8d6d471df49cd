"""A workspace in which every page of the admin has something to show."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Model
from django.utils import timezone

from bridge.models import Message
from config.local.tour import MAILER, tour_connection, tour_steps
from customers.models import Customer, Segment
from engage.audit.acting import by_staff
from engage.models import ApiKey, App, AuditEntry, Membership, Workspace
from journeys.connection.presets import presets
from journeys.connection.resource import CONNECTIONS
from journeys.engine.steering.holding import hold
from journeys.journey.authoring import save_journey
from journeys.models import (
    Connection,
    Enrollment,
    EnrollmentJob,
    Journey,
    JourneyDraft,
    JourneyRevision,
    Resending,
    SteeredHost,
    Trigger,
    Variable,
    WebhookDelivery,
)
from journeys.steps.provider import FIELDS
from journeys.variable.resource import VARIABLES
from tests.admin.failures import failed_webhooks
from tests.admin.messages import interact
from tests.bridge.messages import sale
from tests.journeys.walking.stories import enter
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import (
    ApiKeyFactory,
    AppFactory,
    CustomerFactory,
    JourneyFactory,
    MessageFactory,
    SegmentFactory,
)
from tests.support.one_of_everything import live_through, one_of_everything

Shown = dict[type[Model], Model]


def furnish(workspace: Workspace, server: ServerClient) -> Shown:
    """What the pages show; of each model, the record whose page has most to show."""
    one_of_everything(workspace)
    shown: Shown = {}
    tour = _tour(workspace, server)
    app = AppFactory.create(workspace=workspace, name="Shop", identity=App.Identity.REPORT)
    shown[App] = app
    shown[Message] = _message(workspace, app)
    failed_webhooks(workspace, number=2)
    failed_webhooks(workspace, number=1, host="hooks.partner.example", status=0, ago=7200)
    now = timezone.now()
    Resending.objects.create(
        workspace=workspace, host="mail.example:80", asked_by="root", asked_at=now, before=now,
        total=12, looked_at=5, sent=5,
    )  # fmt: skip
    _held(workspace)
    _renewal(workspace, server)
    customer = Customer.objects.get(external_id="ada")
    live_through(customer, journey=JourneyFactory.create(workspace=workspace, name="Thanks"), app=app)
    staff = User.objects.create_user("grace", email="grace@example.com", is_staff=True, first_name="Grace")
    group = Group.objects.create(name="Support")
    group.permissions.set(Permission.objects.filter(codename__startswith="view_")[:12])
    staff.groups.add(group)
    shown[Membership] = Membership.objects.create(user=staff, workspace=workspace, role=Membership.Role.SUPPORT)
    shown |= {User: staff, Group: group, Customer: customer, Journey: tour, Workspace: workspace}
    shown[ApiKey] = ApiKeyFactory.create(
        workspace=workspace, name="checkout", scopes=["trigger", "events"], networks=["10.0.0.0/8"],
        expires_at=now + timedelta(days=90), last_used_at=now, last_used_from="10.1.2.3",
    )  # fmt: skip
    shown[JourneyRevision] = JourneyRevision.objects.get(journey=tour, number=2)
    shown[Enrollment] = Enrollment.objects.filter(journey=tour, customer=customer).latest("steps_begun")
    shown[EnrollmentJob] = EnrollmentJob.objects.filter(journey=tour).earliest("pk")
    shown[Trigger] = Trigger.objects.filter(journey=tour).earliest("pk")
    shown[Segment] = SegmentFactory.create(
        workspace=workspace, key="pro", name="On the plan pro",
        conditions={"field": "customer.plan", "op": "eq", "value": "pro"},
    )  # fmt: skip
    shown |= {Connection: Connection.objects.get(key=MAILER), Variable: Variable.objects.get(name="colours")}
    JourneyDraft.objects.create(
        workspace=workspace, journey=tour, revision=1, written_by="grace", updated_at=now, exit_on=[{"event": "left"}],
        steps=[{"id": "day", "type": "delay", "for": "soon"}],
    )  # fmt: skip
    shown[AuditEntry] = AuditEntry.objects.filter(action="changed").latest("at")
    shown[WebhookDelivery] = WebhookDelivery.objects.filter(state="failed").latest("pk")
    return shown


def _tour(workspace: Workspace, server: ServerClient) -> Journey:
    """In its second revision, with people at several of its steps."""
    steps = tour_steps(receiver="https://mail.example")
    definition = tour_connection(receiver="https://mail.example")
    CONNECTIONS.save(workspace=workspace, key=MAILER, now=timezone.now(), channel="email", definition=definition)
    written: Any = {"name": "Tour of every step", "max_entries_per_customer": 3}
    for revision in (steps[1:], steps):
        journey = save_journey(
            workspace=workspace, key="tour", now=timezone.now(), steps=revision, exit_on=[{"event": "left"}], **written
        ).journey
    for name, plan in (("Ada Lovelace", "pro"), ("Grace Hopper", "team"), ("Alan Turing", "free")):
        first, last = name.split()
        customer = CustomerFactory.create(
            workspace=workspace, external_id=first.lower(), email=f"{first.lower()}@example.com",
            attributes={"firstName": first, "lastName": last, "name": name, "plan": plan},
        )  # fmt: skip
        enter(server, journey, customer, coupon="WELCOME10")
    let_workers_walk()
    enter(server, journey, CustomerFactory.create(workspace=workspace, external_id="nobody"))
    return journey


def _renewal(workspace: Workspace, server: ServerClient) -> None:
    """Somebody without a phone number, whom no SMS was sent, and who waits for a condition; and what is warned of."""
    now = timezone.now()
    for key, secrets in (("twilio", {"auth": {"basic": {"user": "AC1", "password": "hush"}}}), ("postmark", {})):
        preset = presets()[key]
        definition = {name: preset[name] for name in FIELDS if name in preset} | secrets
        columns: Any = {name: preset[name] for name in ("name", "channel")}
        CONNECTIONS.save(workspace=workspace, key=key, now=now, definition=definition, **columns)
    VARIABLES.save(workspace=workspace, key="colours", value=["green", {"of": "leaves"}], now=now)
    steps: list[Any] = [
        {"id": "text", "type": "send", "connection": "twilio",
         "inputs": {"to": "{{ customer.phone }}", "from": "Shop", "text": "It renews soon: {{ vars.colours[0] }}."}},
        {"id": "soon", "type": "wait_until", "timeout": "P300D", "onTimeout": "out",
         "if": {"all": [{"field": "customer.renewsAt", "op": "before", "value": {"now": "P2D"}},
                        {"field": "customer.plan", "op": "ne", "value": "free"}]}},
        {"id": "nine", "type": "delay", "until": "09:00", "days": ["mo", "fr"],
         "timezone": {"from": "customer.timezone", "else": "Europe/Berlin"}},
        {"id": "mail", "type": "send", "connection": MAILER, "onFailure": "exit",
         "inputs": {"to": "{{ customer.email }}", "subject": "Soon", "html": "<b>{{ customer.name }}</b>"}},
        {"id": "note", "type": "update_profile", "next": None,
         "attributes": {"noticeId": {"$value": "steps.mail.messageId"}}},
        {"id": "out", "type": "exit", "reason": "It did not renew."},
    ]  # fmt: skip
    journey = save_journey(workspace=workspace, key="renewal", name="Renewal notice", now=now, steps=steps).journey
    enter(server, journey, CustomerFactory.create(workspace=workspace, external_id="hedy"))
    let_workers_walk()


def _message(workspace: Workspace, app: App) -> Message:
    """Used, refused, and listened to."""
    made = MessageFactory.create(workspace=workspace, key=sale.KEY, actions=sale.ACTIONS, forms=sale.FORMS)
    for days_ago in range(5):
        interact(made, 3 + days_ago, days_ago=days_ago, app=app, action_id="x")
    problem = {"reason": "event_not_listed", "field": "actionData.eventName", "why": "is not listed"}
    interact(made, 1, app=app, message_problems=[problem], origin="https://shop.example")
    interact(made, 2, app=app, verified=False, identity_problem="missing", origin="https://shop.example")
    JourneyFactory.create(workspace=workspace, name="After a click", trigger_type="event", event_name="clicked")
    return made


def _held(workspace: Workspace) -> None:
    actor = by_staff("root")
    held = JourneyFactory.create(workspace=workspace, key="held", name="Winback")
    hold(held, reason="The offer in it has ended.", actor=actor)
    SteeredHost.objects.create(
        workspace=workspace, host="slow.example:443", per_second=5, held_at=timezone.now(), held_by="root",
        held_because="It asked us to wait.",
    )  # fmt: skip
    JourneyFactory.create(workspace=workspace, key="old", name="Last year", active=False, archived_at=timezone.now())
