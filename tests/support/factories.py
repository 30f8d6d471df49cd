"""The small cast of the tests, and what many of their journeys are made of."""

from typing import Any

from django.db import connection
from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory
from factory.helpers import post_generation

from bridge.models import Message
from customers.models import Customer, Segment, SegmentMembership
from engage.credentials.api_keys import new_key
from engage.models import ApiKey, App, Workspace
from journeys.models import EnrollmentJob, Journey, JourneyRevision
from journeys.steps.exit_rules import parse_exit_rules

Cast = dict[str, Customer]  # by their external ids
NAMES = ("ada", "grace", "alan", "edsger")
AN_HOUR_MS = 3_600_000
DAY: dict[str, Any] = {"id": "day", "type": "delay", "for": "P1D"}
OUT: dict[str, Any] = {"id": "out", "type": "exit", "reason": "Enough."}
PRO: dict[str, Any] = {"field": "customer.plan", "op": "eq", "value": "pro"}


class WorkspaceFactory(DjangoModelFactory[Workspace]):
    class Meta:
        model = Workspace

    key = Sequence(lambda n: f"workspace-{n}")
    name = "Acme"


class ApiKeyFactory(DjangoModelFactory[ApiKey]):
    """The key's secret is at `.secret`."""

    class Meta:
        model = ApiKey

    workspace = SubFactory(WorkspaceFactory)
    name = Sequence(lambda n: f"server-{n}")
    rate_limit = "1000000/m"

    @classmethod
    def _create(cls, model_class: type[ApiKey], *args: Any, **kwargs: Any) -> ApiKey:
        fresh = new_key()
        key: ApiKey = super()._create(model_class, *args, prefix=fresh.prefix, digest=fresh.digest, **kwargs)
        vars(key)["secret"] = fresh.secret
        return key


class AppFactory(DjangoModelFactory[App]):
    class Meta:
        model = App

    workspace = SubFactory(WorkspaceFactory)
    name = Sequence(lambda n: f"web-{n}")


class CustomerFactory(DjangoModelFactory[Customer]):
    class Meta:
        model = Customer

    workspace = SubFactory(WorkspaceFactory)
    external_id = Sequence(lambda n: f"person-{n}")


class SegmentFactory(DjangoModelFactory[Segment]):
    """`members=[customer, …]` puts customers into it."""

    class Meta:
        model = Segment
        skip_postgeneration_save = True

    workspace = SubFactory(WorkspaceFactory)
    key = Sequence(lambda n: f"segment-{n}")
    name = "VIP"

    @post_generation
    def members(self: Any, create: bool, extracted: list[Customer] | None, **_: Any) -> None:
        SegmentMembership.objects.bulk_create(
            SegmentMembership(workspace_id=self.workspace_id, segment=self, customer=customer)
            for customer in extracted or []
        )


class JourneyFactory(DjangoModelFactory[Journey]):
    """`steps=[…]` are the steps of its first revision; without them it completes at once.

    `steps__exit_on=[…]` is what ends those who walk them.
    """

    class Meta:
        model = Journey
        skip_postgeneration_save = True

    workspace = SubFactory(WorkspaceFactory)
    key = Sequence(lambda n: f"journey-{n}")
    name = "Welcome"

    @post_generation
    def steps(self: Any, create: bool, extracted: list[dict[str, Any]] | None, **beside: Any) -> None:
        exit_on = beside.get("exit_on", [])
        JourneyRevision.objects.create(
            workspace_id=self.workspace_id, journey=self, number=self.revision, steps=extracted or [],
            exit_on=exit_on, exit_events=list(parse_exit_rules(exit_on).event_names),
        )  # fmt: skip


def crowd(workspace: Workspace, number: int, *, segment: Segment | None = None) -> list[str]:
    """Makes `user-0` … in one statement each, put into the segment; their external ids."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO customers_customer (id, workspace_id, external_id, attributes) "
            "SELECT left(md5(%s || n), 24), %s, 'user-' || n, '{}' FROM generate_series(0, %s - 1) n",
            [workspace.id, workspace.id, number],
        )
        if segment is not None:
            cursor.execute(
                "INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id) "
                "SELECT workspace_id, %s, id FROM customers_customer WHERE workspace_id = %s",
                [segment.id, workspace.id],
            )
    return [f"user-{n}" for n in range(number)]


def take_milliseconds(job: EnrollmentJob) -> int:
    """Takes those of the five seconds after the job for jobs like it, and one of an hour later; the last of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO journeys_enrollmentjob (workspace_id, journey_id, customer_id, trigger_id, ordinal, "
            "queued_ms, status, result, reason) "
            "SELECT workspace_id, journey_id, customer_id, trigger_id, ordinal + n, queued_ms + n, 'queued', '', '' "
            "FROM journeys_enrollmentjob, (SELECT generate_series(1, 4999) UNION ALL SELECT %s) AS taken (n) "
            "WHERE id = %s",
            [AN_HOUR_MS, job.pk],
        )
    return job.queued_ms + AN_HOUR_MS


class MessageFactory(DjangoModelFactory[Message]):
    """An active message that lists nothing."""

    class Meta:
        model = Message

    workspace = SubFactory(WorkspaceFactory)
    key = Sequence(lambda n: f"message-{n}")
    status = Message.Status.ACTIVE
