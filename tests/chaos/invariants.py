"""What must hold of the whole system once it has come to rest, whatever happened on the way.

Each check gives the sentences that are not true; none of them looks at one call alone.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from journeys.engine.counts.recounting import HISTORY, HISTORY_AND_COUNTS
from journeys.engine.operations.invariants import links_to_other_workspaces, twice_inside
from tests.chaos.early import nobody_walks_on_after_leaving, nothing_is_missed_while_work_waits
from tests.chaos.goals import goals_are_reached_by_what_came_in_time, held_out_once_and_for_all
from tests.chaos.load import LOST, REFUSED, Sending
from tests.chaos.model import Pair, contradiction
from tests.chaos.pages import deliveries_are_there_once_and_over_for_good
from tests.chaos.service import Service
from tests.chaos.tenants import BY_KEY, plan_of
from tests.chaos.told import readers_of_the_feed_miss_nothing, the_feed_tells_what_happened
from tests.chaos.watched import waits_for_a_profile_end_once

Check = Callable[[Service], Iterator[str]]
_SHOWN = 5
# What a call needs that had begun when a server came back: the connection that it finds cut.
_GRACE_SECONDS = 0.25
_GRACE_OF_POOLER = 1.25  # it tries a server again after a second
_EXPECTED = {
    "single": {202}, "bulk": {202}, "segment": {202}, "track": {200}, "profile": {200}, "newcomer": {200},
    "events": {202}, "trespass": {404}, "put": {200, 201}, "identify": {200}, "merge": {200},
}  # fmt: skip


def violations(service: Service) -> list[str]:
    """All sentences that do not hold, a few of each kind."""
    found: list[str] = []
    for check in CHECKS:
        sentences = list(check(service))
        found += sentences[:_SHOWN]
        if len(sentences) > _SHOWN:
            found.append(f"… and {len(sentences) - _SHOWN} more of that kind")
    return found


def answers_are_expected(service: Service) -> Iterator[str]:
    """No 5xx but 503, and that only while PostgreSQL is away; no answer lost but where a web server was killed."""
    for sending in service.load.sendings:
        expected = _EXPECTED[sending.call.kind]
        if sending.status in expected or (sending.call.keyed and sending.status == 409):
            continue
        excuses = {503: "postgresql", LOST: "web", REFUSED: "web"}
        what = excuses.get(sending.status)
        if what is None or not _was_away(service, what, sending):
            answer = sending.status if sending.status > 0 else "not at all"
            yield f"{sending.call.kind} {sending.call.name} was answered {answer}: {_code(sending)}"


def _was_away(service: Service, what: str, sending: Sending) -> bool:
    grace = _GRACE_OF_POOLER if service.pooled and what == "postgresql" else _GRACE_SECONDS
    return any(
        outage.what == what and outage.touches(sending.began, sending.ended, grace=grace) for outage in service.outages
    )


def _code(sending: Sending) -> object:
    return sending.body.get("code") if isinstance(sending.body, dict) else sending.body


JOB_ID = "coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms)"


def acknowledged_jobs_exist(service: Service) -> Iterator[str]:
    known = {job_id for (job_id,) in service.ask(f"SELECT {JOB_ID} FROM journeys_enrollmentjob job")}
    for sending in service.load.succeeded("single", "bulk", "segment"):
        jobs = [sending.data["jobId"]] if sending.call.kind == "single" else sending.data["jobIds"]
        if missing := set(jobs) - known:
            yield f"{len(missing)} jobs of {sending.call.name} were acknowledged and do not exist"


def bulk_answers_count_their_rows(service: Service) -> Iterator[str]:
    rows = dict(service.ask("SELECT trigger_id, count(*) FROM journeys_enrollmentjob GROUP BY trigger_id"))
    for sending in service.load.succeeded("bulk", "segment"):
        told = sending.data["customersEnrolled"], len(set(sending.data["jobIds"])), len(sending.data["customerIds"])
        numbers = {*told, rows.get(sending.data["triggerId"], 0)}
        if len(numbers) > 1:
            yield f"{sending.call.name} answered {told} and has {rows.get(sending.data['triggerId'], 0)} rows"


def acknowledged_events_exist(service: Service) -> Iterator[str]:
    known = {event_id for (event_id,) in service.ask("SELECT id FROM customers_event")}
    for sending in service.load.succeeded("track"):
        if sending.data["eventId"] not in known:
            yield f"the event of {sending.call.name} was acknowledged and does not exist"
    for sending in service.load.succeeded("events"):
        ids = {result.get("eventId") for result in sending.data["results"]}
        if len(ids) != len(sending.call.customers) * len(sending.call.words["events"]) or ids - known:
            yield f"events of {sending.call.name} were acknowledged and do not exist"


_STARTED_FROM_BRIDGE = """
SELECT event.id FROM journeys_trigger trigger
JOIN customers_event event ON event.id = trigger.event_id
JOIN journeys_journey journey ON journey.id = trigger.journey_id
WHERE NOT journey.event_from_bridge AND event.source LIKE 'bridge%%'
"""


def events_from_messages_start_nothing_where_they_do_not_count(service: Service) -> Iterator[str]:
    for (event_id,) in service.ask(_STARTED_FROM_BRIDGE):
        yield f"the event {event_id} came from a message and started a journey that takes none"


def bridge_calls_are_recorded_once(service: Service) -> Iterator[str]:
    rows = Counter(dict(service.ask("SELECT message_id, count(*) FROM bridge_interaction GROUP BY message_id")))
    for sending in service.load.sendings:
        if sending.call.kind in {"track", "profile", "newcomer"}:
            number = rows[sending.call.name]
            if number > 1 or (sending.succeeded and not number):
                yield f"{sending.call.name} was answered {sending.status} and is recorded {number} times"


def calls_are_done_once(service: Service) -> Iterator[str]:
    """Also those whose answer was lost, and those that were sent again with their key."""
    rows = service.ask(
        "SELECT request_id, count(*) FROM journeys_trigger WHERE event_id IS NULL GROUP BY 1 HAVING count(*) > 1"
    )
    for request_id, number in rows:
        yield f"{request_id} made {number} triggers"


def newcomers_are_one_person(service: Service) -> Iterator[str]:
    found = dict(service.ask("SELECT email || workspace_id, count(*) FROM customers_customer GROUP BY 1"))
    for sending in service.load.succeeded("newcomer"):
        who = sending.call.words["newcomer"] + service.tenants[sending.call.tenant].workspace
        if found.get(who) != 1:
            yield f"{who} is {found.get(who, 0)} customers"


def jobs_are_decided(service: Service) -> Iterator[str]:
    # A merge cancels a job whose call has queued the other one as well.
    statement = (
        "SELECT status, count(*) FROM journeys_enrollmentjob "
        "WHERE status <> 'decided' AND NOT (status = 'cancelled' AND queued_as IS NOT NULL) GROUP BY status"
    )
    for status, number in service.ask(_beside_poison(statement, "journey_id")):
        yield f"{number} jobs are {status}"
    if number := service.count("SELECT count(*) FROM journeys_chunk"):
        yield f"{number} chunks wait"


def _beside_poison(statement: str, column: str) -> str:
    """Without the journeys that are there to fail."""
    return statement.replace(
        "WHERE", f"WHERE {column} NOT IN (SELECT id FROM journeys_journey WHERE key LIKE 'poison%%') AND"
    )


def one_enrollment_per_job(service: Service) -> Iterator[str]:
    """`enrolled` where there is an enrollment, and nowhere else, of the same customer and journey."""
    number = service.count(
        "SELECT count(*) FROM journeys_enrollmentjob job FULL JOIN journeys_enrollment entry ON entry.job_id = job.id "
        "WHERE (job.result = 'enrolled') IS DISTINCT FROM (entry.id IS NOT NULL) "
        "OR entry.customer_id <> job.customer_id OR entry.journey_id <> job.journey_id"
    )
    if number:
        yield f"{number} jobs and enrollments do not fit together"
    yield from twice_inside(service.ask)


_PAIRS = """
SELECT journey.key, customer.external_id, count(*) FILTER (WHERE job.status = 'decided'),
       count(*) FILTER (WHERE job.result = 'enrolled'), count(*) FILTER (WHERE entry.state = 'active'),
       count(*) FILTER (WHERE entry.state = 'completed'), count(*) FILTER (WHERE entry.state = 'exited')
FROM journeys_enrollmentjob job
JOIN journeys_journey journey ON journey.id = job.journey_id
JOIN customers_customer customer ON customer.id = job.customer_id
LEFT JOIN journeys_enrollment entry ON entry.job_id = job.id
GROUP BY journey.id, journey.key, customer.id
"""


def entries_are_those_of_the_model(service: Service) -> Iterator[str]:
    for key, name, jobs, enrolled, active, completed, exited in service.ask(_PAIRS):
        if key not in BY_KEY:
            continue
        pro = name is not None and plan_of(int(name.removeprefix("c-"))) == "pro"
        pair = Pair(jobs=jobs, enrolled=enrolled, active=active, completed=completed, exited=exited, pro=pro)
        if wrong := contradiction(BY_KEY[key], pair):
            yield f"{name} in {key}: {wrong}"


_COUNTED_OTHERWISE = f"""
WITH {HISTORY}
SELECT journey_id, kind, name, outcome, hour, sum(number) FROM ({HISTORY_AND_COUNTS}) AS both_of
WHERE kind NOT IN ('event', 'inapp')
GROUP BY journey_id, revision_id, kind, name, outcome, hour HAVING sum(number) <> 0
"""


def counts_are_the_sums_of_the_history(service: Service) -> Iterator[str]:
    """In every hour, which lasts a second here: it turns amid many transactions (service.py).

    But for events that started nothing, and what became of messages, which no history has.
    """
    for journey, kind, name, outcome, hour, number in service.ask(_COUNTED_OTHERWISE):
        yield f"in {journey}, the history has {number:+} of {kind} {name} {outcome} more than the counts of {hour}"


def no_row_links_two_workspaces(service: Service) -> Iterator[str]:
    yield from links_to_other_workspaces(service.ask)


_DELIVERIES = """
SELECT delivery.enrollment_id, delivery.ordinal, delivery.state, delivery.attempts, delivery.url,
       coalesce(array_agg(attempt.number ORDER BY attempt.number) FILTER (WHERE attempt.id IS NOT NULL), '{}'),
       EXISTS (SELECT FROM journeys_enrollment WHERE id = delivery.enrollment_id AND exit_reason LIKE 'Merged into %%')
FROM journeys_webhookdelivery delivery LEFT JOIN journeys_webhookattempt attempt ON attempt.delivery_id = delivery.id
GROUP BY delivery.id
"""


def webhooks_are_recorded(service: Service) -> Iterator[str]:
    """Each delivered at least once, each attempt recorded, under one id per step; and no other id was ever seen."""
    arrived = Counter(request.webhook_id for request in service.receiver.arrived)
    recorded = set()
    for enrollment, ordinal, state, attempts, url, numbers, merged in service.ask(_DELIVERIES):
        webhook_id = f"msg_{enrollment}_{ordinal}"
        recorded.add(webhook_id)
        if numbers != list(range(1, attempts + 1)):
            yield f"{webhook_id} has {attempts} attempts, recorded are {numbers}"
        if not url.endswith("/ok") or service.receiver.host not in url:
            continue
        if state == "dropped" and merged:
            continue  # the person's other enrollment in this journey has its own
        if state != "delivered":
            yield f"{webhook_id} is {state}"
        elif not arrived[webhook_id]:
            yield f"{webhook_id} is delivered and did not arrive"
    if unknown := set(arrived) - recorded:
        yield f"{len(unknown)} webhook ids arrived that are not recorded, as {min(unknown)!r}"


CHECKS: Sequence[Check] = (
    answers_are_expected,
    acknowledged_jobs_exist,
    bulk_answers_count_their_rows,
    acknowledged_events_exist,
    events_from_messages_start_nothing_where_they_do_not_count,
    bridge_calls_are_recorded_once,
    calls_are_done_once,
    newcomers_are_one_person,
    jobs_are_decided,
    one_enrollment_per_job,
    entries_are_those_of_the_model,
    counts_are_the_sums_of_the_history,
    no_row_links_two_workspaces,
    webhooks_are_recorded,
    deliveries_are_there_once_and_over_for_good,
    nobody_walks_on_after_leaving,
    nothing_is_missed_while_work_waits,
    waits_for_a_profile_end_once,
    held_out_once_and_for_all,
    goals_are_reached_by_what_came_in_time,
    the_feed_tells_what_happened,
    readers_of_the_feed_miss_nothing,
)
