"""What Prometheus is told, and who may ask."""

import re
import time
import tomllib
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from django.db import OperationalError, connection, transaction
from django.db.models import F
from django.test import Client
from django.utils import timezone
from structlog.testing import capture_logs

from config import ROOT
from config.local.processes import commands
from config.monitoring import presence
from config.monitoring.exposition import Metric, Sample, exposition
from config.monitoring.release import version
from engage.calls.call import Call
from engage.models import Workspace
from engage.redis.availability import redis_key
from engage.redis.metric_counters import REQUESTS, WORKSPACE_REFUSALS, metric_counters
from journeys.engine.counts.counting import NO_REVISION, fold, write_counts
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, SteeredHost, WebhookDelivery, WebhookHost
from journeys.rules.failures import MAX_ATTEMPTS
from tests.journeys.walking.stories import enter
from tests.journeys.webhooks.standing import send, standing
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import Answer, ServerClient
from tests.support.factories import ApiKeyFactory, CustomerFactory, JourneyFactory
from tests.support.one_of_everything import one_of_everything
from tests.support.receiver import running

pytestmark = pytest.mark.django_db
_SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} (\S+)')


@pytest.fixture(autouse=True)
def _nothing_was_counted(settings: Any) -> None:
    metric_counters.send()  # what the tests before this one counted
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.delete("engage:metric_counters", f"engage:{WORKSPACE_REFUSALS}:{timezone.now().date().isoformat()}")


def scrape(**headers: str) -> Answer:
    return Answer.of(Client().get("/metrics", headers=headers))


def samples() -> dict[str, float]:
    """By name with labels, as they are written."""
    answer = scrape()
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {}
    for line in answer.content.decode().splitlines():
        if not line.startswith("#"):
            matched = _SAMPLE.fullmatch(line)
            assert matched, line
            name = f"{matched[1]}{{{matched[2]}}}" if matched[2] else matched[1]
            assert name not in found
            found[name] = float(matched[3])
    return found


def test_what_took_longer_than_every_bucket_is_counted_too() -> None:
    metric_counters.observe(REQUESTS, "GET", "slow", "200", seconds=60)
    found, labels = samples(), 'method="GET",route="slow",status="2xx"'
    assert found[f'engage_http_request_seconds_bucket{{{labels},le="10"}}'] == 0
    assert found[f'engage_http_request_seconds_bucket{{{labels},le="+Inf"}}'] == 1
    assert found[f"engage_http_request_seconds_count{{{labels}}}"] == 1
    assert found[f"engage_http_request_seconds_sum{{{labels}}}"] == 60


def test_a_label_may_hold_anything() -> None:
    odd = Sample(value=1, labels={"route": '\\d "x"\n'})
    text = exposition([Metric(name="engage_odd", kind="gauge", meaning="Odd.", samples=[odd])])
    assert text.splitlines()[2:] == [r'engage_odd{route="\\d \"x\"\n"} 1']


# Who may ask ---------------------------------------------------------------------------------------------------------


def test_with_a_token_only_who_sends_it_is_answered(settings: Any) -> None:
    settings.METRICS_TOKEN = "s3cret"
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "s3cret"}, {"Authorization": "Bearer é"}):
        answer = scrape(**headers)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
        assert answer.json()["code"] == "unauthorized"
    assert scrape(Authorization="Bearer s3cret").status_code == 200


def test_without_a_token_nothing_is_there_in_production(settings: Any) -> None:
    assert scrape().status_code == 200
    settings.PRODUCTION = True
    assert scrape().status_code == 404


# What answers -------------------------------------------------------------------------------------------------------


def test_the_version_is_that_of_the_project() -> None:
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    [(name, value)] = [(name, value) for name, value in samples().items() if name.startswith("engage_build_info{")]
    assert (f'version="{written}"' in name, value) == (True, 1)


def test_where_nobody_wrote_the_version_down_it_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("config.monitoring.release.ROOT", tmp_path)
    assert version.__wrapped__() == "unknown"


# What waits ----------------------------------------------------------------------------------------------------------


def test_what_waits_and_how_late_it_is(acme: Workspace, rival: Workspace) -> None:
    now = timezone.now()
    for workspace, minutes in ((acme, 1), (rival, 2)):
        late = now - timedelta(minutes=minutes)
        enrollment = one_of_everything(workspace)
        Chunk.objects.filter(workspace=workspace).update(turn_at=late, stop=7)
        Enrollment.objects.filter(id=enrollment.id).update(state="active", due_at=late)
        WebhookDelivery.objects.filter(workspace=workspace).update(state="waiting", due_at=late)
        WebhookHost.objects.filter(workspace=workspace).update(open_until=None)
    found = samples()
    assert found['engage_queued_jobs{lane="single"}'] == 14
    assert (found["engage_enrollments_due"], found["engage_webhooks_waiting"]) == (2, 2)
    for name in (
        'engage_queue_late_seconds{lane="single"}', "engage_enrollments_late_seconds", "engage_webhooks_late_seconds"
    ):  # fmt: skip
        assert 115 < found[name] < 150  # the test's transaction began earlier than its clock was read


def test_what_waits_for_a_host_that_is_left_alone_is_not_late(acme: Workspace, rival: Workspace) -> None:
    now = timezone.now()
    for workspace, minutes, open_until in ((acme, 1, None), (rival, 9, now + timedelta(minutes=1))):
        one_of_everything(workspace)
        own = {"workspace": workspace}
        WebhookDelivery.objects.filter(**own).update(state="waiting", due_at=now - timedelta(minutes=minutes))
        WebhookHost.objects.filter(**own).update(open_until=open_until, host=WebhookDelivery.objects.get(**own).host)
    found = samples()
    assert (found["engage_webhooks_waiting"], found["engage_webhook_circuits_open"]) == (2, 1)
    assert 55 < found["engage_webhooks_late_seconds"] < 90
    SteeredHost.objects.create(
        workspace=acme, host=WebhookDelivery.objects.get(workspace=acme).host, held_at=timezone.now()
    )
    assert samples()["engage_webhooks_late_seconds"] == 0


def test_what_is_held_is_told_apart_by_who_holds_it(acme: Workspace, rival: Workspace) -> None:
    now = timezone.now()
    for workspace, held_by in ((acme, "guard"), (rival, "staff root"), (rival, "key shop")):
        JourneyFactory.create(workspace=workspace, held_at=now, held_by=held_by)
    SteeredHost.objects.create(workspace=acme, host="mail.example:443", held_at=now)
    found = samples()
    held = found['engage_journeys_held{by="guard"}'], found['engage_journeys_held{by="others"}']
    assert (held, found["engage_webhook_hosts_held"]) == ((1, 2), 1)


def test_nothing_waits() -> None:
    found = samples()
    others = ("engage_http", "engage_build", "engage_process", "engage_database", "engage_oldest")
    waiting = {name: value for name, value in found.items() if not name.startswith(others)}
    assert set(waiting.values()) == {0, 1}
    assert {name for name, value in waiting.items() if value} == {"engage_postgresql_up", "engage_redis_up"}


def test_a_wait_that_is_ahead_is_not_late(acme: Workspace) -> None:
    enrollment = one_of_everything(acme)
    ahead = timezone.now() + timedelta(days=1)
    Enrollment.objects.filter(id=enrollment.id).update(state="active", due_at=ahead)
    WebhookDelivery.objects.update(state="waiting", due_at=ahead)
    found = samples()
    assert (found["engage_enrollments_due"], found["engage_enrollments_late_seconds"]) == (0, 0)
    assert (found["engage_webhooks_waiting"], found["engage_webhooks_late_seconds"]) == (1, 0)


def test_a_scrape_costs_six_statements_whatever_waits(acme: Workspace, django_assert_num_queries: Any) -> None:
    one_of_everything(acme)
    with django_assert_num_queries(6):
        scrape()


# What was counted ----------------------------------------------------------------------------------------------------


def test_decisions_by_result(server: ServerClient, acme: Workspace, journey: Journey) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    CustomerFactory.create(workspace=acme, external_id="bob")
    for names in (["ada", "bob"], ["ada"]):
        data(trigger(server, journey, {"external_ids": names}))
        let_workers_decide()
    job = data(trigger(server, journey, {"external_id": "ada"}))["jobId"]
    for _ in range(2):  # the second time changes nothing
        server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job}")
    found = {name: value for name, value in samples().items() if name.startswith("engage_jobs_decided_total")}
    assert len(found) == len(EnrollmentJob.Result.values)
    assert {name: value for name, value in found.items() if value} == {
        'engage_jobs_decided_total{result="enrolled"}': 2,
        'engage_jobs_decided_total{result="already_enrolled"}': 1,
        'engage_jobs_decided_total{result="cancelled"}': 1,
    }


def test_all_that_may_be_decided_or_come_of_an_attempt_is_told_before_the_first_time() -> None:
    """A monitoring system sees no increase in a counter that begins at 1."""
    found = samples()
    assert found['engage_jobs_decided_total{result="failed"}'] == 0
    attempts = {name: value for name, value in found.items() if name.startswith("engage_webhook_attempts_total")}
    assert attempts == {
        f'engage_webhook_attempts_total{{outcome="{outcome}"}}': 0 for outcome in ("delivered", "retried", "failed")
    }


def test_attempts_at_webhooks_by_what_came_of_them(acme: Workspace) -> None:
    with running() as receiver:
        for status in (200, 503, 503, 404, 404, 404):
            standing(acme, receiver.url(f"/status/{status}"))
        send()
    found = samples()
    attempts = {
        outcome: found[f'engage_webhook_attempts_total{{outcome="{outcome}"}}']
        for outcome in ("delivered", "retried", "failed")
    }
    assert attempts == {"delivered": 1, "retried": 2, "failed": 3}


def test_enrollments_that_are_given_up(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "day", "type": "delay", "for": "P1D"}])
    given_up, _ = [enter(server, journey, CustomerFactory.create(workspace=acme)) for _ in range(2)]
    assert samples()["engage_enrollments_given_up_total"] == 0
    Enrollment.objects.filter(id=given_up.id).update(attempts=MAX_ATTEMPTS, error="KeyError: gone")
    let_workers_walk()
    assert samples()["engage_enrollments_given_up_total"] == 1


def test_request_times_by_route_method_and_status(server: ServerClient, acme: Workspace) -> None:
    for job in ("a", "b"):
        server.get(f"/api/v1/journeys/{acme.id}/jobs/{job}")
    Client().generic("BREW", "/coffee")
    server.patch(f"/api/v1/journeys/{acme.id}/jobs/a", {})
    found = samples()
    labels = 'method="GET",route="api/v1/journeys/<str:workspace_id>/jobs/<str:job_id>",status="4xx"'
    assert found[f"engage_http_request_seconds_count{{{labels}}}"] == 2
    assert found[f'engage_http_request_seconds_bucket{{{labels},le="+Inf"}}'] == 2
    assert 0 < found[f"engage_http_request_seconds_sum{{{labels}}}"] < 60
    assert found['engage_http_request_seconds_count{method="other",route="none",status="4xx"}'] == 2
    opening = f'engage_http_request_seconds_bucket{{{labels},le="'
    buckets = {name.removeprefix(opening)[:-2]: value for name, value in found.items() if name.startswith(opening)}
    assert " ".join(buckets) == "0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf"
    assert list(buckets.values()) == sorted(buckets.values())


def test_waits_from_the_call_to_the_decision_and_from_being_due_to_the_first_attempt(
    server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    CustomerFactory.create(workspace=acme, external_id="bob")
    data(trigger(server, journey, {"external_ids": ["ada", "bob"]}))
    EnrollmentJob.objects.update(queued_ms=F("queued_ms") - 20_000)
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    with running() as receiver:
        for status in (200, 503):
            standing(acme, receiver.url(f"/status/{status}"))
        for _ in range(2):  # a second attempt is not the first
            WebhookDelivery.objects.filter(state="waiting").update(due_at=timezone.now() - timedelta(seconds=20))
            send()
    found = samples()
    for name, number, late in (
        ('engage_decision_wait_seconds_{part}{{lane="bulk"{more}}}', 2, 2),
        ('engage_decision_wait_seconds_{part}{{lane="single"{more}}}', 1, 0),
        ("engage_webhook_first_attempt_wait_seconds_{part}{braces}", 2, 2),
    ):

        def value(part: str, le: str = "", name: str = name) -> float:
            alone = f'{{le="{le}"}}' if le else ""
            return found[name.format(part=part, more=f',le="{le}"' if le else "", braces=alone)]

        assert value("count") == value("bucket", "+Inf") == number
        assert value("bucket", "10") == number - late
        assert late * 20 <= value("sum") < late * 20 + 30


def test_refusals_by_code_and_by_workspace(server: ServerClient, acme: Workspace, rival: Workspace) -> None:
    assert samples()['engage_refusals_total{code="job_not_found"}'] == 0
    for _ in range(2):
        server.get(f"/api/v1/journeys/{acme.id}/jobs/none")
    ServerClient(ApiKeyFactory.create(workspace=rival)).get(f"/api/v1/journeys/{rival.id}/jobs/none")
    Client().get(f"/api/v1/journeys/{acme.id}/jobs/none")  # no key: a caller's word is no workspace
    found = samples()
    assert (
        found['engage_refusals_total{code="job_not_found"}'],
        found['engage_refusals_total{code="unauthorized"}'],
    ) == (3, 1)
    by_workspace = {name: value for name, value in found.items() if name.startswith("engage_workspace_refusals_total")}
    assert by_workspace == {
        f'engage_workspace_refusals_total{{workspace="{workspace.id}",code="job_not_found"}}': number
        for workspace, number in ((acme, 2), (rival, 1))
    }


def test_events_that_start_nothing_by_reason_once_their_counts_are_folded(acme: Workspace, journey: Journey) -> None:
    write_counts(Counter({(acme.id, journey.id, NO_REVISION, "event", "where_not_met", ""): 2}))
    assert (fold(), fold()) == (1, 0)
    assert samples()['engage_events_missed_total{reason="where_not_met"}'] == 2


def test_each_kind_of_process_is_seen(settings: Any) -> None:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.set(redis_key("engage:seen:walk"), "", px=86_400_000 - 90_000)
        client.delete(redis_key("engage:seen:bulk"))
        presence.say(presence.kinds_of({"single", "sweep"}))
        found = samples()
    seen = {kind: found[f'engage_process_seen_seconds{{process="{kind}"}}'] for kind in presence.PROCESSES}
    assert (0 <= seen["worker"] < 10, 90 <= seen["walk"] < 100, seen["bulk"]) == (True, True, 86_400)
    assert set(presence.PROCESSES) == set(commands(ROOT / "Procfile"))


def test_a_transaction_that_is_open_and_the_size_of_the_database() -> None:
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT 1")
        time.sleep(0.2)
        found = samples()
    assert found["engage_oldest_transaction_seconds"] >= 0.2
    assert found["engage_database_bytes"] > 1_000_000


def test_a_thousand_workspaces_make_fewer_than_6000_series(settings: Any) -> None:
    """Whatever they and strangers send: each call answered in each way, and refused for each reason."""
    codes = [name.partition('"')[2].partition('"')[0] for name in samples() if name.startswith("engage_refusals_total")]
    today = timezone.now().date().isoformat()
    for call in Call.all():
        for method, status in (
            *((call.method, s) for s in (200, 202, 400, 401, 404, 409, 429, 503)),
            ("PATCH", 405),
            ("PUT", 405),
        ):
            metric_counters.observe(REQUESTS, method, f"api/v1/{call.path}", str(status), seconds=0.1)
    for page in range(300):
        metric_counters.observe(REQUESTS, "GET", f"admin/{page}/", "200", seconds=0.1)
    for workspace in range(1000):
        metric_counters.count(WORKSPACE_REFUSALS, today, f"{workspace:024}", codes[workspace % len(codes)])
    assert len(samples()) < 6000


# When a server is away -----------------------------------------------------------------------------------------------


def test_without_redis_the_backlog_is_still_told(settings: Any) -> None:
    scrape()
    assert any(name.startswith("engage_http") for name in samples())
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    found = samples()
    assert (found["engage_postgresql_up"], found["engage_redis_up"]) == (1, 0)
    assert found["engage_enrollments_due"] == 0
    assert not any(name.startswith("engage_http") for name in found)


@pytest.mark.usefixtures("redis_takes_no_writes")
def test_a_redis_that_takes_no_writes_is_told_like_one_that_is_away_with_what_it_still_knows() -> None:
    found = samples()
    assert (found["engage_redis_up"], found["engage_enrollments_given_up_total"]) == (0, 0)


def test_without_postgresql_the_counts_are_still_told() -> None:
    def fail(*_: object) -> None:
        raise OperationalError("gone")

    scrape()
    with connection.execute_wrapper(fail):
        found = samples()
    assert (found["engage_postgresql_up"], found["engage_redis_up"]) == (0, 1)
    assert any(name.startswith("engage_http") for name in found)


def test_a_schema_that_does_not_fit_is_no_absence() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE journeys_chunk RENAME TO gone")
    with capture_logs() as lines, transaction.atomic():
        found = samples()
    assert found["engage_postgresql_up"] == 1
    assert not any(name.startswith("engage_queued") for name in found)
    assert [line["event"] for line in lines if line["log_level"] == "error"] == ["backlog_unreadable"]


def test_limits_that_a_process_counts_alone_are_told_once_redis_is_back(acme: Workspace, settings: Any) -> None:
    server = ServerClient(ApiKeyFactory.create(workspace=acme))
    caches, nowhere = settings.CACHES, "redis://127.0.0.1:1/0"
    settings.CACHES = {
        **caches,
        "counters": {"BACKEND": "engage.redis.limit_counters.CounterCache", "LOCATION": nowhere},
    }
    for _ in range(3):
        server.get(f"/api/v1/customers/{acme.id}/{'f' * 24}")
    settings.CACHES = caches
    assert samples()["engage_limits_counted_in_process_total"] == 3
