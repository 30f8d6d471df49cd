"""A journey may say what payloads must be: calls, authors and those who try it are held to that."""

import time
from typing import Any

import pytest

from engage.models import Workspace
from journeys.engine.entering import trigger as entering
from journeys.models import EnrollmentJob, Journey, Trigger
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.calls import refused as told_of
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["order"],
    "properties": {
        "order": {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "string", "pattern": "^A-", "examples": ["A-1"]},
                "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "integer"}}}},
            },
        },
        "shop": {"type": "string", "enum": ["Ulm", "Bern"]},
    },
}
GOOD, BAD = {"order": {"id": "A-1"}}, {"order": {"id": 7, "lines": [{"sku": 1}, {"sku": "x"}]}, "shop": "Rom"}
PLACES = ["payload.order.id", "payload.order.lines[1].sku", "payload.shop"]
PATH = "/api/v1/journeys/acme/orders"


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    for name in ("ada", "bob", "eve"):
        CustomerFactory.create(workspace=acme, external_id=name, email=f"{name}@example.com")
    return JourneyFactory.create(workspace=acme, key="orders", payload_schema=SCHEMA)


@pytest.mark.django_db
@each("dry_run", ["", "?dryRun=true"])
def test_a_payload_that_breaks_it_is_refused_with_the_places(
    journey: Journey, server: ServerClient, dry_run: str
) -> None:
    for named in ({"external_id": "ada"}, {"external_ids": ["ada", "bob"]}, {"recipients": [{"external_id": "ada"}]}):
        answer = server.post(f"{PATH}/trigger{dry_run}", {**named, "payload": BAD})
        told = answer.json()
        assert (answer.status_code, told["code"]) == (422, "payload_invalid"), named
        assert sorted(one["place"] for one in told["details"]) == PLACES
        assert not Trigger.objects.exists()
        assert server.post(f"{PATH}/trigger{dry_run}", {**named, "payload": GOOD}).status_code in {200, 202}
        Trigger.objects.all().delete()
    lacking = server.post(f"{PATH}/trigger{dry_run}", {"external_id": "ada"}).json()
    assert [one["place"] for one in lacking["details"]] == ["payload"]
    assert server.post(f"{PATH}/trigger{dry_run}", {"external_id": "nobody"}).status_code == 404


@pytest.mark.django_db
@each(
    "multiple_of, fine, wrong",
    [
        (0.01, [19.99, 0.29, -1.1, 0, 7, 1e308, 4.35], [0.295, 1e-300]),
        (0.3, [0.9, 3], [1, 1e308]),
        (1e-300, [1e308, 7, 3e-300], [1.5e-300, 1e-310]),
        (2, [2**53 + 2, 2**64 - 2, 4.0], [2**53 + 1, 2**64 - 1, 0.5]),
    ],
)
def test_a_multiple_is_one_of_the_numbers_as_they_are_written(
    journey: Journey, server: ServerClient, multiple_of: float, fine: list[float], wrong: list[float]
) -> None:
    schema = {"type": "object", "properties": {"m": {"type": "number", "multipleOf": multiple_of}}}
    data(server.put(PATH, {"steps": [], "payloadSchema": schema}, headers={"If-Match": "*"}), status=200)
    for numbers, statuses in ((fine, {200}), (wrong, {422})):
        for number in numbers:
            body = {"external_id": "ada", "payload": {"m": number}}
            assert server.post(f"{PATH}/trigger?dryRun=true", body).status_code in statuses, number


@pytest.mark.django_db
def test_a_recipients_own_is_that_ones_result(journey: Journey, server: ServerClient) -> None:
    recipients = [
        {"external_id": "ada", "payload": GOOD},
        {"external_id": "bob", "payload": {"order": {"id": "B-1"}}},
        {"external_id": "eve"},
        {"external_id": "ada", "payload": GOOD},
    ]
    body = {"recipients": recipients, "payload": {"shop": "Ulm"}}
    refused = [(1, "payload_invalid"), (2, "payload_invalid"), (3, "duplicate_recipient")]
    for path, status in ((f"{PATH}/trigger?dryRun=true", 200), (f"{PATH}/trigger", 202)):
        told = data(server.post(path, body), status=status)
        assert [(one["index"], one["code"]) for one in told["refused"]] == refused
        assert "payload.order.id" in told["refused"][0]["message"]
    let_workers_decide()
    assert EnrollmentJob.objects.get().result == "enrolled"
    wholly = [{"external_id": "ada", "payload": {"order": {}}}]
    assert data(server.post(f"{PATH}/trigger", {"recipients": wholly}))["customersEnrolled"] == 0


@pytest.mark.django_db
def test_what_every_recipient_overrides_of_the_common_payload_is_held_to_nothing(
    journey: Journey, server: ServerClient
) -> None:
    own = [{"external_id": name, "payload": GOOD} for name in ("ada", "bob")]
    body = {"recipients": own, "payload": {"order": "none"}}
    assert data(server.post(f"{PATH}/trigger?dryRun=true", body), status=200)["refused"] == []
    assert data(server.post(f"{PATH}/trigger", body))["customersEnrolled"] == 2
    body = {"recipients": [*own, {"external_id": "ada"}], "payload": {"order": "none"}}
    assert "payload.order" in told_of(server.post(f"{PATH}/trigger", body), status=422, error="Payload invalid")


@pytest.mark.django_db
def test_one_that_changes_meanwhile_is_heeded(
    journey: Journey, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between what was checked and what is committed."""

    def changed_after_the_check(schema: Any, payload: Any) -> None:
        monkeypatch.undo()
        Journey.objects.filter(id=journey.id).update(payload_schema={**SCHEMA, "required": ["shop"]})

    monkeypatch.setattr(entering, "require_payload", changed_after_the_check)
    answer = trigger(server, journey, {"external_id": "ada", "payload": GOOD})
    assert (answer.status_code, answer.json()["details"][0]["place"]) == (422, "payload")


@pytest.mark.django_db
def test_what_takes_too_long_to_check_is_refused_in_time(journey: Journey, server: ServerClient) -> None:
    any_of = {"anyOf": [{"type": "string", "minLength": n} for n in range(2, 60)]}
    schema = {"type": "object", "properties": {"all": {"type": "array", "items": any_of}}}
    Journey.objects.filter(id=journey.id).update(payload_schema=schema)
    begun = time.monotonic()
    answer = trigger(server, journey, {"external_id": "ada", "payload": {"all": ["x"] * 9_000}})
    assert (answer.status_code, answer.json()["code"]) == (422, "payload_invalid")
    assert time.monotonic() - begun < 20


def step(text: str) -> list[dict[str, Any]]:
    return [{"id": "tell", "type": "webhook", "url": "https://shop.example/", "body": {"text": text}}]


@each(
    "text, is_right",
    [
        ("{{ api.payload.order.id }} {{ api.properties.shop | upcase }}", True),
        ("{{ api.payload.order.lines[0].sku }} {{ api.payload.order.lines.first.sku }}", True),
        ("{% for line in api.payload.order.lines %}{{ line.whatever }}{% endfor %}", True),
        ("{{ api.payload.size }} {{ api.payload[customer.key] }}", True),
        ("{{ api.payload.coupon }}", False),
        ("{{ api.payload.order.number }}", False),
        ("{{ api.properties['ship'] }}", False),
    ],
)
@pytest.mark.django_db
def test_a_template_that_reads_what_it_does_not_have_is_a_mistake(
    journey: Journey, server: ServerClient, text: str, is_right: bool
) -> None:
    server.headers["If-Match"] = "*"
    body = {"steps": step(text), "payloadSchema": SCHEMA}
    answer = server.put(f"{PATH}?dryRun=true", body)
    assert (answer.status_code == 200) is is_right, answer.json()
    assert server.put(f"{PATH}?dryRun=true", {"steps": step(text)}).status_code == 200


@pytest.mark.django_db
def test_steps_that_are_there_are_held_to_a_new_one_and_values_too(journey: Journey, server: ServerClient) -> None:
    server.headers["If-Match"] = "*"
    steps = [{"id": "note", "type": "update_profile", "attributes": {"order": {"$value": "api.payload.number"}}}]
    data(server.put(PATH, {"steps": steps}), status=200)
    told = server.put(PATH, {"steps": steps, "payloadSchema": SCHEMA}).json()
    assert (told["code"], told["details"][0]["place"]) == ("definition_invalid", "steps[0].attributes.order.$value")


@each(
    "schema, place",
    [
        ({"type": "array"}, "payloadSchema"),
        (
            {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/a"}}},
            "payloadSchema.properties.a",
        ),
        ({"type": "object", "required": "a"}, "payloadSchema"),
        ({"type": "object", "properties": {"a": {"pattern": "(?=a)"}}}, "payloadSchema.properties.a.pattern"),
        ({"type": "object", "title": "x" * 20_000}, "payloadSchema"),
        ("anything", "payloadSchema"),
    ],
)
@pytest.mark.django_db
def test_one_that_payloads_cannot_be_held_to_is_refused(
    acme: Workspace, server: ServerClient, schema: Any, place: str
) -> None:
    told = server.put("/api/v1/journeys/acme/new", {"payloadSchema": schema}).json()
    assert told["code"] == "definition_invalid"
    assert told["details"][0]["place"].startswith(place)
    assert not Journey.objects.filter(key="new").exists()


@pytest.mark.django_db
def test_a_journey_by_event_has_none(acme: Workspace, server: ServerClient) -> None:
    body = {"trigger": "event", "eventName": "ordered", "payloadSchema": SCHEMA}
    assert server.put("/api/v1/journeys/acme/new", body).json()["details"][0]["place"] == "payloadSchema"
