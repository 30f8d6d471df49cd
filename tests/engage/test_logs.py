"""What people are or send never stands in a log, nor in what traces and Sentry are told; ids do."""

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from django.db import connection
from django.test import Client
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from customers.models import Customer
from engage.models import Workspace
from engage.process.request_log import configure_logging
from journeys.models import Chunk, Journey
from tests.support.calls import customers_path, data, let_workers_decide, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.telemetry import Told, telling

PRIVATE = {
    "e-mail": "ada.lovelace@example.com",
    "phone": "+14155552671",
    "payload": "a-payload-nobody-may-read",
    "form data": "a-form-nobody-may-read",
    "attribute": "an-attribute-nobody-may-read",
    "event property": "a-property-nobody-may-read",
}


class Log(io.StringIO):
    """All that the service logs, of every level, as it would be written, and what others are told of it."""

    told: Told


@pytest.fixture
def log(settings: Any) -> Iterator[Log]:
    root = logging.getLogger()
    written, level = Log(), root.level
    ours = next(handler for handler in root.handlers if type(handler) is logging.StreamHandler)
    handler = logging.StreamHandler(written)
    handler.setFormatter(ours.formatter)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    with telling(settings) as written.told:
        yield written
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    CustomerFactory.create(
        workspace=acme,
        external_id="ada",
        email=PRIVATE["e-mail"],
        phone=PRIVATE["phone"],
        attributes={"secret": PRIVATE["attribute"]},
    )
    return JourneyFactory.create(workspace=acme)


def assert_discreet(log: Log, *secrets: str) -> None:
    assert log.getvalue()
    assert log.told.spans() or log.told.events()
    written = log.getvalue() + log.told.all_text()
    found = [name for name, value in PRIVATE.items() if value in written]
    assert not found
    assert not any(secret in written for secret in secrets)


def key_of(server: ServerClient) -> str:
    return str(vars(server.key)["secret"])


def test_a_trigger_s_way_is_logged_with_ids_alone(server: ServerClient, journey: Journey, log: Log) -> None:
    payload = {"note": PRIVATE["payload"]}
    data(trigger(server, journey, {"email": PRIVATE["e-mail"], "payload": payload}, headers={"X-Request-Id": "call-1"}))
    many = data(trigger(server, journey, {"external_ids": ["ada"], "properties": payload}))
    let_workers_decide()
    written = log.getvalue()
    for wanted in ("call-1", journey.workspace_id, many["triggerId"], "jobs_decided"):
        assert wanted in written
    assert_discreet(log, key_of(server))


@pytest.mark.parametrize(
    ("body", "number"), [({"external_id": "ada"}, 3), ({"external_id": "ada"}, 60), ({"external_ids": ["ada"]}, 3)]
)
def test_a_decision_is_logged_under_its_own_call_whoever_woke_the_worker(
    server: ServerClient,
    journey: Journey,
    rival_server: ServerClient,
    rival: Workspace,
    body: dict[str, Any],
    number: int,
) -> None:
    CustomerFactory.create(workspace=rival, external_id="ada")
    theirs = JourneyFactory.create(workspace=rival)
    told = set()
    for client, entered in ((server, journey), (rival_server, theirs)):
        for n in range(number):
            call = f"{entered.workspace_id}-{n}"
            queued = data(trigger(client, entered, body, headers={"X-Request-Id": call}))
            told.add((queued["triggerId"], call, entered.workspace_id))
    woken_by = structlog.contextvars.bound_contextvars(request_id="of-another")
    with capture_logs(processors=[merge_contextvars]) as lines, woken_by:
        let_workers_decide()
    decided = [one for line in lines if line["event"] == "jobs_decided" for one in line.get("triggers", [line])]
    assert {(one["trigger_id"], one["request_id"], one["workspace_id"]) for one in decided} == told
    assert sum(one["jobs"] for one in decided) == len(decided) == 2 * number
    assert sum(one["enrolled"] for one in decided) == 2
    if number == 60:  # one line tells many
        assert len([line for line in lines if line["event"] == "jobs_decided" and "triggers" in line]) <= 10
        assert all("triggers" in line for line in lines if line["event"] == "jobs_decided")


def test_a_decision_is_logged_under_the_events_call(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered")
    body = {"external_id": "ada", "eventName": "ordered"}
    data(server.post(customers_path(acme, "events"), body, headers={"X-Request-Id": "the-report"}))
    with capture_logs() as lines:
        let_workers_decide()
    assert [line["request_id"] for line in lines if line["event"] == "jobs_decided"] == ["the-report"]


@pytest.mark.parametrize(
    "body",
    [
        {"email": "grace." + PRIVATE["e-mail"], "payload": {"a": PRIVATE["payload"]}},
        {"email": [PRIVATE["e-mail"]]},
        {"external_ids": [PRIVATE["e-mail"], 7]},
        {"payload": {"a": PRIVATE["payload"]}},
        {"external_id": "ada", "payload": PRIVATE["payload"]},
        b'{"email": "' + PRIVATE["e-mail"].encode(),
        b'{"email": "\\u0000' + PRIVATE["e-mail"].encode() + b'"}',
    ],
)
def test_a_refused_trigger_is_logged_without_what_it_held(
    server: ServerClient, journey: Journey, log: Log, body: Any
) -> None:
    assert trigger(server, journey, body).status_code >= 400
    assert_discreet(log, key_of(server))


def test_a_refused_key_is_not_logged(server: ServerClient, journey: Journey, log: Log) -> None:
    key = key_of(server)
    wrong = key[:-1] + ("y" if key.endswith("x") else "x")
    answer = trigger(server, journey, {"external_id": "ada"}, headers={"Authorization": f"Bearer {wrong}"})
    assert answer.status_code == 401
    assert_discreet(log, wrong, key_of(server))


@pytest.mark.django_db(transaction=True)
def test_a_database_error_is_logged_without_its_row(server: ServerClient, journey: Journey, log: Log) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION spill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            f"'it was {PRIVATE['e-mail']}' USING DETAIL = '{PRIVATE['phone']}'; END $$; "
            "CREATE TRIGGER spill BEFORE INSERT ON journeys_enrollment FOR EACH ROW EXECUTE FUNCTION spill()"
        )
    try:
        let_workers_decide()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER spill ON journeys_enrollment; DROP FUNCTION spill()")
    assert Chunk.objects.get().attempts == 1
    assert "chunk_failed" in log.getvalue()
    assert_discreet(log)


@pytest.mark.parametrize("call", ["action", "capture"])
def test_a_bridge_call_is_logged_with_ids_alone(sdk: SdkClient, log: Log, call: str) -> None:
    body = {
        "messageId": "m-1",
        "email": PRIVATE["e-mail"],
        "phone": PRIVATE["phone"],
        "formData": {"answer": PRIVATE["form data"]},
        "actionType": "track_event",
        "actionData": {"eventName": "clicked", "eventProperties": {"p": PRIVATE["event property"]}},
        "submitAction": {"type": "both", "eventName": "sent"},
    }
    data(sdk.post(f"/api/v1/sdk/bridge/{call}", body), status=200)
    assert sdk.app.id in log.getvalue()
    assert_discreet(log)
    refused = sdk.post(f"/api/v1/sdk/bridge/{call}", {**body, "messageId": 7, "email": PRIVATE["e-mail"] + "@"})
    assert refused.status_code == 400
    assert_discreet(log)


def test_a_key_that_leaked_to_the_bridge_is_flagged_but_not_repeated(
    sdk: SdkClient, server: ServerClient, log: Log
) -> None:
    headers = {"Authorization": f"Bearer {key_of(server)}"}
    answer = sdk.post("/api/v1/sdk/bridge/action", {"messageId": "m"}, headers=headers)
    assert answer.status_code == 400
    assert "api_key_in_browser" in log.getvalue()
    assert_discreet(log, key_of(server))


def test_what_stands_in_an_address_is_not_logged(
    server: ServerClient, acme: Workspace, journey: Journey, log: Log
) -> None:
    assert server.get(f"/api/v1/customers/{acme.id}?email={PRIVATE['e-mail']}").status_code == 200
    assert server.get(f"/api/v1/customers/{acme.id}/of/{PRIVATE['e-mail']}").status_code == 404
    assert_discreet(log)
    assert Customer.objects.filter(email=PRIVATE["e-mail"]).exists()


def test_a_call_is_one_line_that_says_nothing_of_the_call_before(server: ServerClient, acme: Workspace) -> None:
    with capture_logs(processors=[merge_contextvars]) as lines:
        server.get(f"/api/v1/journeys/{acme.id}/jobs/none", headers={"X-Request-Id": "call-1"})
        Client().get("/nothing", headers={"X-Request-Id": "call-2"})
    one, other = (line for line in lines if line["event"] == "request")
    assert 0 < one.pop("ms") < 60_000
    assert one == {
        "event": "request",
        "log_level": "info",
        "request_id": "call-1",
        "method": "GET",
        "route": "api/v1/journeys/<str:workspace_id>/jobs/<str:job_id>",
        "status": 404,
        "workspace_id": acme.id,
        "api_key_id": server.key.id,
    }
    assert set(other) == {"event", "log_level", "request_id", "method", "route", "status", "ms"}
    assert (other["request_id"], other["route"]) == ("call-2", None)


def test_a_logger_that_was_used_before_takes_part_in_what_is_configured_again() -> None:
    log = structlog.get_logger("somebody")
    log.info("before")
    kept = logging.getLogger().handlers
    try:
        configure_logging()
        with capture_logs() as lines:
            log.info("after")
    finally:
        logging.getLogger().handlers = kept
    assert [line["event"] for line in lines] == ["after"]


@pytest.mark.parametrize(
    "write",
    [
        lambda _: structlog.get_logger("somebody").exception("failed"),
        lambda error: structlog.get_logger("somebody").error("failed", exc_info=error),
        lambda error: logging.getLogger("somebody").error("failed", exc_info=error),
    ],
)
def test_exceptions_are_logged_without_their_messages(log: Log, write: Callable[[Exception], None]) -> None:
    try:
        try:
            raise LookupError(PRIVATE["payload"])
        except LookupError as cause:
            raise RuntimeError(PRIVATE["e-mail"]) from cause
    except RuntimeError as error:
        write(error)
    assert f"builtins.RuntimeError at {__file__}:" in log.getvalue()
    assert f"; caused by builtins.LookupError at {__file__}:" in log.getvalue()
    assert_discreet(log)


def test_in_production_a_line_is_one_json_object(settings: Any, capfd: pytest.CaptureFixture[str]) -> None:
    settings.LOG_FORMAT = "json"
    kept = logging.getLogger().handlers
    logging.captureWarnings(capture=False)  # as it is when a process starts
    try:
        configure_logging()
        logging.getLogger("somebody.else").warning("It took %d ms.", 7)
        line = json.loads(capfd.readouterr().err)
        warnings.showwarning("It is old.", UserWarning, "old.py", 7)  # as Python does for a warning
        warned = json.loads(capfd.readouterr().err)
    finally:
        settings.LOG_FORMAT = "console"
        configure_logging()
        logging.getLogger().handlers = kept
    assert (line["event"], line["level"], line["logger"]) == ("It took 7 ms.", "warning", "somebody.else")
    assert warned["event"].startswith("old.py:7: UserWarning: It is old.")
    assert (warned["level"], warned["logger"]) == ("warning", "py.warnings")
