"""An event that ends a journey counts from the moment the job was queued, not from that of the enrollment."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer, Event
from engage.json.instants import iso_utc
from engage.models import Workspace
from journeys.models import Enrollment, Journey, StepRun
from tests.journeys.events.reporting import BIG, YEAR, event_journey, report, report_many, results
from tests.support.bridge_calls import click
from tests.support.calls import data, job_of, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, crowd
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

LEFT = [{"event": "left"}]
MAIL = {"id": "mail", "type": "update_profile", "attributes": {"mailed": True}}
ENDED = ("exited", "The event 'left' ends the journey.")
STAYS = ("active", "")


def leaving(workspace: Workspace, **fields: Any) -> Journey:
    """A journey that the event `left` ends."""
    return JourneyFactory.create(workspace=workspace, **{"steps": [MAIL, YEAR], "steps__exit_on": LEFT, **fields})


def call(server: ServerClient, journey: Journey, *names: str) -> list[str]:
    """A call for these customers; the job ids."""
    jobs: list[str] = data(trigger(server, journey, {"external_ids": list(names)}))["jobIds"]
    return jobs


def ends() -> list[tuple[str, str]]:
    """The state and the reason of every enrollment, in the order of their jobs."""
    return list(Enrollment.objects.order_by("job_id").values_list("state", "exit_reason"))


def named(*names: str, **fields: Any) -> list[dict[str, Any]]:
    """Events of these names, of ada."""
    return [{"external_id": "ada", "eventName": name, **fields} for name in names]


def by_report(workspace: Workspace, server: ServerClient, sdk: SdkClient, name: str) -> None:
    report_many(server, workspace, [{"external_id": name, "eventName": "left"}])


def by_click(workspace: Workspace, server: ServerClient, sdk: SdkClient, name: str) -> None:
    data(click(sdk, external_id=name, actionType="track_event", actionData={"eventName": "left"}), status=200)


@pytest.mark.slow
@each("leave", [by_report, by_click])
def test_who_leaves_after_a_call_was_accepted_gets_no_step_of_its_journey(
    acme: Workspace,
    server: ServerClient,
    sdk: SdkClient,
    leave: Callable[[Workspace, ServerClient, SdkClient, str], None],
) -> None:
    names = crowd(acme, 30)
    call(server, leaving(acme), *names)
    for name in names[:20]:  # all of it acknowledged before a worker has decided anything
        leave(acme, server, sdk, name)
    let_workers_walk()
    of_leavers = Enrollment.objects.filter(customer__external_id__in=names[:20])
    assert list(of_leavers.values_list("state", "exit_reason")) == [ENDED] * 20
    assert not StepRun.objects.filter(enrollment__in=of_leavers).exists()
    assert not Customer.objects.filter(external_id__in=names[:20], attributes__mailed=True).exists()
    assert Enrollment.objects.filter(state="active").count() == 10
    assert set(results()) == {"enrolled"}


def test_the_job_and_the_enrollment_tell_what_happened(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    (job_id,) = call(server, leaving(acme), "ada")
    report(server, ada, "left")
    let_workers_walk()
    job = job_of(server, acme.id, job_id)
    assert (job["status"], job["result"], job["reason"]) == ("decided", "enrolled", "The customer met the entry rules.")
    path = f"/api/v1/journeys/{acme.id}/enrollments/{job['enrollmentId']}"
    enrollment = data(server.get(path), status=200)
    assert (enrollment["state"], enrollment["exitReason"], enrollment["steps"]) == (*ENDED, [])
    assert enrollment["endedAt"] is not None


@each("body", [{"external_id": "ada"}, {"external_ids": ["ada", "grace"]}])
def test_what_came_while_the_call_was_being_queued_counts(
    acme: Workspace, server: ServerClient, ada: Customer, body: dict[str, Any]
) -> None:
    """A call for a million takes a minute. Here ada leaves as her job is written, before any other row."""
    CustomerFactory.create(workspace=acme, external_id="grace")
    report(server, ada, "left")
    with connection.cursor() as cursor:
        named = (str(field.column) for field in Event._meta.concrete_fields)
        columns = ", ".join(name for name in named if name not in {"id", "serial"})
        cursor.execute(
            "CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"INSERT INTO customers_event (id, {columns}) SELECT left(md5(id), 24), {columns} FROM customers_event "
            "WHERE customer_id = NEW.customer_id; RETURN NEW; END $$; "
            "CREATE TRIGGER leave BEFORE INSERT ON journeys_enrollmentjob FOR EACH ROW EXECUTE FUNCTION leave()"
        )
    data(trigger(server, leaving(acme), body))
    let_workers_decide()
    assert Enrollment.objects.get(customer=ada).exit_reason == ENDED[1]
    assert not Enrollment.objects.exclude(customer=ada).exclude(state="active").exists()


def test_what_came_before_the_call_does_not_count_whatever_its_time(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    report_many(server, acme, named("left", occurredAt=iso_utc(timezone.now() + timedelta(minutes=4))))
    call(server, leaving(acme), "ada")
    let_workers_decide()
    assert ends() == [STAYS]


def test_what_came_after_the_call_counts_whatever_its_time(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    call(server, leaving(acme), "ada")
    report_many(server, acme, named("left", occurredAt="2020-01-01T00:00:00Z"))
    let_workers_decide()
    assert ends() == [ENDED]


def test_only_an_event_whose_condition_holds_ends_it(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    rules = [{"event": "ordered", "where": BIG}, {"event": "left"}]
    call(server, leaving(acme, steps__exit_on=rules), "ada")
    call(server, leaving(acme, steps__exit_on=[{"if": BIG}]), "ada")
    call(server, leaving(acme, steps__exit_on=[]), "ada")
    report(server, ada, "ordered", total=99)
    report(server, ada, "looked", total=100)
    let_workers_decide()
    assert ends() == [STAYS] * 3
    call(server, leaving(acme, steps__exit_on=rules), "ada")
    report(server, ada, "ordered", total=99)
    report(server, ada, "ordered", total=100)
    report(server, ada, "left")
    let_workers_decide()
    assert ends()[3] == ("exited", "The event 'ordered' ends the journey.")


def test_the_one_that_ends_it_is_found_behind_any_number_that_do_not(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    call(server, leaving(acme, steps__exit_on=[{"event": "ordered", "where": BIG}]), "ada")
    report_many(server, acme, named(*["ordered"] * 60, eventProperties={"total": 99}))
    report(server, ada, "ordered", total=100)
    let_workers_decide()
    assert [state for state, _ in ends()] == ["exited"]


def test_another_customer_s_event_and_another_tenant_s_end_nothing(
    acme: Workspace, server: ServerClient, rival: Workspace, rival_server: ServerClient, ada: Customer
) -> None:
    call(server, leaving(acme), "ada")
    report(server, CustomerFactory.create(workspace=acme), "left")
    report(rival_server, CustomerFactory.create(workspace=rival, external_id="ada"), "left")
    let_workers_decide()
    assert ends() == [STAYS]


def test_an_event_at_the_end_of_a_chain_ends_nothing(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    for chain in (20, 21):
        call(server, leaving(acme), "ada")
        Event.objects.filter(id=report(server, ada, "left")).update(chain=chain)
        let_workers_decide()
    assert ends() == [ENDED, STAYS]


@each(
    "reported, state",
    [
        (["left", "ordered"], "active"),
        (["ordered", "left"], "exited"),
        (["left", "ordered", "looked", "left"], "exited"),
    ],
)
def test_events_of_one_call_count_in_their_order(
    acme: Workspace, server: ServerClient, ada: Customer, reported: list[str], state: str
) -> None:
    """`ordered` starts the journey, and `left` ends it."""
    event_journey(acme, steps=[YEAR], steps__exit_on=LEFT)
    report_many(server, acme, named(*reported))
    let_workers_decide()
    assert [one for one, _ in ends()] == [state]


def test_the_event_that_starts_a_journey_is_not_the_one_that_ends_it(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    """It does both, as an event of the same name that comes next shows."""
    event_journey(acme, steps=[YEAR], steps__exit_on=[{"event": "ordered"}])
    report_many(server, acme, named("ordered", "ordered", "ordered"))
    let_workers_decide()
    assert [state for state, _ in ends()] == ["exited", "exited", "active"]
    assert results() == ["enrolled"] * 3


def test_who_left_between_two_calls_is_in_by_the_second(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = leaving(acme)
    call(server, journey, "ada")
    report(server, ada, "left")
    call(server, journey, "ada")
    let_workers_decide()
    assert ends() == [ENDED, STAYS]
    assert results() == ["enrolled", "enrolled"]


def test_who_left_by_an_event_stays_out_for_earlier_calls(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    """More than one entry is allowed: the call would have replaced the active one."""
    journey = leaving(acme, max_entries_per_customer=3)
    call(server, journey, "ada")
    let_workers_walk()
    call(server, journey, "ada")
    report(server, ada, "left")
    assert ends() == [ENDED]
    let_workers_decide()
    assert ends() == [ENDED, ENDED]


def test_who_is_inside_by_other_rules_is_replaced_and_leaves(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    """The active one entered when nothing ended the journey: it makes room, as if there had been no gap."""
    journey = JourneyFactory.create(workspace=acme, steps=[YEAR], max_entries_per_customer=3)
    call(server, journey, "ada")
    let_workers_walk()
    journey.revisions.create(workspace=acme, number=2, steps=[YEAR], exit_on=LEFT, exit_events=["left"])
    journey.revision = 2
    journey.save()
    call(server, journey, "ada")
    report(server, ada, "left")
    let_workers_decide()
    assert ends() == [("exited", "Replaced by a new entry."), ENDED]


def test_a_journey_without_steps_is_left_and_not_completed(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    journey = leaving(acme, steps=[])
    call(server, journey, "ada")
    report(server, ada, "left")
    let_workers_decide()
    call(server, journey, "ada")
    let_workers_decide()
    assert [state for state, _ in ends()] == ["exited", "completed"]  # what was left does not count as an entry
    assert results() == ["enrolled", "enrolled"]


def test_a_job_of_before_serials_is_decided_as_then(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = leaving(acme)
    call(server, journey, "ada")
    journey.trigger_set.update(serial=None)
    report(server, ada, "left")
    let_workers_decide()
    assert ends() == [STAYS]


@pytest.mark.django_db(transaction=True)
def test_an_event_recorded_amid_a_decision_is_not_missed(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    call(server, leaving(acme), "ada")
    with transaction.atomic():
        report(server, ada, "left")  # and that is not committed yet
        deciding = made_to_wait(let_workers_decide)
    deciding.result(PATIENCE_SECONDS)
    assert ends() == [ENDED]
    call(server, leaving(acme), "ada")
    with transaction.atomic():
        let_workers_decide()
        reporting = made_to_wait(lambda: report(server, ada, "left"))
    reporting.result(PATIENCE_SECONDS)
    assert ends() == [ENDED, ENDED]


def asked_for_events(queries: CaptureQueriesContext) -> int:
    return sum("FROM customers_event recorded" in query["sql"] for query in queries)


@pytest.mark.slow
def test_a_chunk_asks_once_for_events_and_only_where_they_matter(acme: Workspace, server: ServerClient) -> None:
    names = crowd(acme, 300)
    asked = []
    for named_now in (names[:1], names):
        for rules in ([], [{"if": BIG}], LEFT):
            call(server, leaving(acme, steps__exit_on=rules), *named_now)
            report_many(server, acme, [{"external_id": name, "eventName": "left"} for name in named_now])
            with CaptureQueriesContext(connection) as queries:
                let_workers_decide()
            asked.append((len(queries) - asked_for_events(queries), asked_for_events(queries)))
    without, by_condition, by_event = asked[3:]
    assert asked == [without, by_condition, by_event] * 2
    assert without == by_condition == (by_event[0], 0)
    assert by_event[1] == 1


def test_jobs_of_many_journeys_ask_once(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    for _ in range(20):
        event_journey(acme, steps=[YEAR], steps__exit_on=LEFT)
    report_many(server, acme, named("ordered", "left"))
    with CaptureQueriesContext(connection) as queries:
        let_workers_decide()
    assert asked_for_events(queries) == 1
    assert [state for state, _ in ends()] == ["exited"] * 20


def test_a_dry_run_supposes_that_nothing_comes_between(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = leaving(acme)
    report(server, ada, "left")
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
    with CaptureQueriesContext(connection) as queries:
        answer = data(server.post(path, {"external_id": "ada"}), status=200)
    assert asked_for_events(queries) == 0
    assert answer["results"] == {"enrolled": 1}
