"""Both spellings together, where they agree, are one field."""

from typing import Any

from engage.models import Workspace
from journeys.models import Trigger
from tests.support.calls import data, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, SegmentFactory


@each(
    "one, other, value",
    [
        ("external_id", "externalId", "ada"),
        ("external_ids", "externalIds", ["ada"]),
        ("exclude_external_ids", "excludeExternalIds", ["grace"]),
        ("payload", "properties", {"a": 1}),
    ],
)
def test_equal_values_in_both_spellings_are_fine(
    server: ServerClient, acme: Workspace, one: str, other: str, value: Any
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada", email="ada@example.com")
    body = {one: value, other: value}
    if one in {"exclude_external_ids", "payload"}:
        body["external_ids"] = ["ada"]
    answered = data(trigger(server, JourneyFactory.create(workspace=acme), body))
    assert answered["queued"] is True
    assert Trigger.objects.get().customers == 1


def test_both_spellings_of_segment_ids(server: ServerClient, acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme, members=[CustomerFactory.create(workspace=acme)])
    body = {"segment_ids": [segment.id], "segmentIds": [segment.id]}
    assert data(trigger(server, JourneyFactory.create(workspace=acme), body))["customersEnrolled"] == 1


@each("blank", [None, "", "  "])
@each("filled, other", [("external_id", "externalId"), ("externalId", "external_id")])
def test_a_blank_spelling_is_absent_beside_a_filled_one(
    server: ServerClient, acme: Workspace, filled: str, other: str, blank: str | None
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    assert data(trigger(server, JourneyFactory.create(workspace=acme), {filled: "ada", other: blank}))["queued"] is True


def test_a_payload_in_both_spellings_may_have_another_order(server: ServerClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    body = {"external_id": "ada", "payload": {"a": 1, "b": 2}, "properties": {"b": 2, "a": 1}}
    assert data(trigger(server, JourneyFactory.create(workspace=acme), body))["queued"] is True


@each("one, other", [(True, 1), (False, 0), (1, 1.0), ("1", 1), ([], {}), (["a", "b"], ["b", "a"])])
def test_payloads_that_python_or_nobody_takes_for_equal_differ(
    server: ServerClient, acme: Workspace, one: Any, other: Any
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    body = {"external_id": "ada", "payload": {"a": one}, "properties": {"a": other}}
    answer = trigger(server, JourneyFactory.create(workspace=acme), body)
    message = refused(answer, status=400, error="Invalid request")
    assert message == "payload and properties are two spellings of one field, but their values differ."
    assert not Trigger.objects.exists()
