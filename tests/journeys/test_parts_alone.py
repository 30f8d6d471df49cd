"""What is done in one go for all tenants: whatever becomes of one kind of work, or of one tenant's, the rest is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.utils import timezone

from customers.models import Customer
from engage.models import App, Workspace
from journeys.models import (
    Chunk,
    Enrollment,
    InAppDelivery,
    Journey,
    JourneyRevision,
    Resending,
    StepRun,
    WebhookDelivery,
)
from journeys.tasks import resend, sweep
from tests.journeys.events.reporting import event_journey, report, results
from tests.journeys.webhooks.standing import standing
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, CustomerFactory, JourneyFactory, MessageFactory
from tests.support.one_of_everything import live_through, one_of_everything
from tests.support.tables import taken_back

pytestmark = pytest.mark.django_db
Broken = Callable[[str, Any], bool]
LATER = {"field": "event.properties.total", "op": "later_than", "value": 1}  # an operator that a later version has


@contextmanager
def failing(broken: Broken) -> Iterator[list[str]]:
    """Statements that are `broken` fail; the others' SQL.

    None fail of which Django knows that they would: it goes on with no transaction, that of the test, after one.
    """
    executed = list[str]()

    def run(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        may_fail = not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK", 'UPDATE "', 'DELETE FROM "'))
        if may_fail and broken(sql, params):
            raise IntegrityError
        executed.extend([sql] if may_fail else [])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(run):
        yield executed


def nothing(_sql: str, _params: Any) -> bool:
    return False


class Waiting:
    """A workspace in which one of each kind of work waits that a sweep does."""

    def __init__(self, workspace: Workspace, server: ServerClient, url: str) -> None:
        self.workspace, now = workspace, timezone.now()
        journey = JourneyFactory.create(workspace=workspace, steps=[DAY])
        CustomerFactory.create(workspace=workspace, external_id="ada")
        in_a_day = (now + timedelta(days=1)).isoformat()
        data(trigger(server, journey, {"external_id": "ada", "scheduledFor": in_a_day}))
        Chunk.objects.filter(workspace=workspace).update(due_at=now - timedelta(hours=1))
        standing(workspace, url)
        WebhookDelivery.objects.filter(workspace=workspace).update(give_up_at=now - timedelta(hours=1))
        live_through(
            CustomerFactory.create(workspace=workspace),
            journey=journey,
            app=App.objects.create(workspace=workspace, name="Web"),
        )
        Chunk.objects.filter(workspace=workspace, lane="single").delete()
        InAppDelivery.objects.filter(workspace=workspace).update(expires_at=now - timedelta(hours=1))
        self.inside = {name: self._inside(server, name) for name in ("abort", "resumption", "move")}
        held = {"held_at": now, "aborted_at": now, "active": False}
        Journey.objects.filter(id=self.inside["abort"].journey_id).update(**held)
        Enrollment.objects.filter(id=self.inside["resumption"].id).update(was_due_at=now, due_at=None)
        Journey.objects.filter(id=self.inside["resumption"].journey_id).update(resumed_at=now, per_minute=60)
        moving = Journey.objects.get(id=self.inside["move"].journey_id)
        JourneyRevision.objects.create(workspace=workspace, journey=moving, number=2, steps=[{**DAY, "for": "P2D"}])
        Journey.objects.filter(id=moving.id).update(revision=2, moves_to=2)

    def _inside(self, server: ServerClient, name: str) -> Enrollment:
        journey = JourneyFactory.create(workspace=self.workspace, key=name, steps=[DAY])
        data(trigger(server, journey, {"external_id": "ada"}))
        let_workers_decide()
        let_workers_walk()
        return Enrollment.objects.get(journey=journey)

    @property
    def ids(self) -> set[str]:
        """Of what is in it, as far as they are nobody else's number as well."""
        own = [
            model.objects.filter(workspace=self.workspace).values_list("pk", flat=True)
            for model in (Journey, Enrollment, Customer, InAppDelivery)
        ]
        return {self.workspace.id, *(one for ids in own for one in ids)}

    def left(self) -> set[str]:
        """The kinds of work that still wait."""
        own = {"workspace": self.workspace}
        was = {name: Enrollment.objects.select_related("revision").get(pk=one.pk) for name, one in self.inside.items()}
        waits = {
            "scheduled": Chunk.objects.filter(**own, lane="scheduled").exists(),
            "webhook": WebhookDelivery.objects.filter(**own, state="waiting").exists(),
            "expiry": InAppDelivery.objects.filter(**own, ended_at=None).exists(),
            "abort": was["abort"].state == "active",
            "resumption": was["resumption"].due_at is None,
            "move": was["move"].revision.number == 1,
        }
        return {name for name, is_left in waits.items() if is_left}


@pytest.fixture
def waiting(
    acme: Workspace, rival: Workspace, server: ServerClient, rival_server: ServerClient
) -> tuple[Waiting, Waiting]:
    return Waiting(acme, server, "http://a.example/"), Waiting(rival, rival_server, "http://b.example/")


@pytest.mark.slow
def test_a_sweep_does_all_but_the_one_kind_of_work_of_which_a_statement_fails(
    waiting: tuple[Waiting, Waiting], subtests: pytest.Subtests
) -> None:
    kinds = waiting[0].left()
    assert len(kinds) == 6
    with taken_back(), failing(nothing) as executed:
        sweep()
        assert not waiting[0].left() | waiting[1].left()
    for broken in dict.fromkeys(executed):
        with subtests.test(sql=broken), taken_back():
            with failing(lambda sql, _, broken=broken: sql == broken):  # type: ignore[misc]
                sweep()
            left = waiting[0].left() | waiting[1].left()
            assert len(left) <= 1 or left <= {"abort", "resumption", "move"}  # which share some


def test_what_cannot_be_done_for_one_tenant_is_done_for_the_others(waiting: tuple[Waiting, Waiting]) -> None:
    ours, theirs = waiting
    ids = ours.ids
    with failing(lambda _, params: any(one in ids for one in flat(params))):
        sweep()
    assert not theirs.left()
    assert ours.left() == {"expiry", "abort", "resumption", "move"}


def flat(params: Any) -> Iterator[Any]:
    for one in params or ():
        if isinstance(one, list | tuple):
            yield from flat(one)
        else:
            yield one


def test_what_is_sent_again_goes_on_behind_what_cannot_be(acme: Workspace, rival: Workspace) -> None:
    now = timezone.now()
    for workspace in (acme, rival):
        standing(workspace, "http://a.example/", number=3)
        Resending.objects.create(workspace=workspace, asked_by="root", asked_at=now, before=now, total=3)
    StepRun.objects.update(state="done")
    WebhookDelivery.objects.update(state="failed", due_at=now - timedelta(hours=1))
    with failing(lambda _, params: acme.id in list(flat(params))):
        resend()
    assert set(WebhookDelivery.objects.filter(workspace=rival).values_list("again", flat=True)) == {True}


def test_pruning_goes_on_behind_what_cannot_be_pruned_and_says_so(acme: Workspace) -> None:
    one_of_everything(acme)
    with failing(nothing) as executed:
        call_command("prune", "--dry-run", stdout=StringIO())
    for broken in set(executed):
        told = pytest.raises(CommandError, match=r"^Not pruned: [\w ,-]+\. The log says why; all else is done\.$")
        with told, failing(lambda sql, _, broken=broken: sql == broken):  # type: ignore[misc]
            call_command("prune", "--dry-run", stdout=StringIO())


# What a later version has stored --------------------------------------------------------------------------------------


def test_an_event_is_recorded_and_starts_others_beside_a_journey_that_cannot_be_read(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    event_journey(acme, event_where=LATER)
    event_journey(acme, event_where=LATER, active=False)
    event_journey(acme)
    report(server, ada, total=2)
    let_workers_decide()
    assert results() == ["enrolled"]
    tried = {"customerId": ada.id, "eventName": "ordered"}
    told = data(server.post(f"{customers_path(acme, 'events')}?dryRun=true", tried), status=200)
    assert [len(one["starts"] + one["not"]) for one in told["events"]] == [1]


def test_messages_expire_beside_a_journey_that_cannot_be_read(acme: Workspace, rival: Workspace) -> None:
    for workspace in (acme, rival):
        MessageFactory.create(workspace=workspace)
        one_of_everything(workspace)
    InAppDelivery.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    event_journey(acme, event_name="in_app.expired", event_where=LATER)
    sweep()
    assert set(InAppDelivery.objects.values_list("state", flat=True)) == {"expired"}
