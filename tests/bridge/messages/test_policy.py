"""An app's `messagePolicy`: what its messages may do."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from bridge.models import Interaction, Message
from customers.models import Customer, Event
from engage.models import App, Workspace
from tests.bridge.messages import sale
from tests.support.bridge_calls import ACTION, CAPTURE, call
from tests.support.bridge_calls import refused_without_a_trace as refused
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import CustomerFactory, MessageFactory

UPDATE = "update_profile"
TRACK = "track_event"


def clicked(**properties: Any) -> dict[str, Any]:
    return {"actionType": TRACK, "actionData": {"eventName": "clicked", "eventProperties": properties}}


def updated(**attributes: Any) -> dict[str, Any]:
    return {"actionType": UPDATE, "actionData": {"profileAttributes": attributes}}


ALLOWED = [
    (ACTION, clicked()),
    (ACTION, clicked(n=10)),
    (ACTION, clicked(n=-2.5, kind="banner")),
    (ACTION, updated(plan="pro")),
    (ACTION, updated(newsletter=True)),
    (ACTION, {"actionType": "close"}),
    (ACTION, {"actionType": "link"}),
    (ACTION, {**clicked(), "formData": {"why": "dear"}}),
    (CAPTURE, {"formData": {"score": "3"}, "submitAction": sale.NPS_ACTION}),
    (CAPTURE, {"formData": {"score": "-.5e1"}, "submitAction": sale.NPS_ACTION}),
    (CAPTURE, {"formData": {"score": 3, "why": "", "topics": ["price"]}, "submitAction": sale.NPS_ACTION}),
    (CAPTURE, {"formData": {"zip": "89073", "since": "2026-11-20", "home": "on"}}),
]
NOT_LISTED = "is not listed by the message."
REFUSED = [
    (ACTION, {"actionType": TRACK, "actionData": {"eventName": "bought"}}, "actionData.eventName", NOT_LISTED),
    (ACTION, clicked(vip=True), "actionData.eventProperties.vip", NOT_LISTED),
    (ACTION, clicked(n=11), "actionData.eventProperties.n", "must be at most 10."),
    (ACTION, clicked(n="3"), "actionData.eventProperties.n", "must be a number."),
    (ACTION, clicked(n=True), "actionData.eventProperties.n", "must be a number."),
    (ACTION, updated(vip=True), "actionData.profileAttributes.vip", NOT_LISTED),
    (ACTION, updated(plan=None), "actionData.profileAttributes.plan", "must be a string."),
    (
        ACTION,
        updated(plan="gold"),
        "actionData.profileAttributes.plan",
        "is none of the values that the message lists.",
    ),
    (ACTION, {"actionType": "close", "formData": {"vip": "yes"}}, "formData.vip", NOT_LISTED),
    (CAPTURE, {"formData": {"vip": "yes"}}, "formData.vip", NOT_LISTED),
    (CAPTURE, {"formData": {"zip": "8907x"}}, "formData.zip", "does not have the form that the message asks for."),
    (CAPTURE, {"formData": {"zip": None}}, "formData.zip", "must be a string."),
    (CAPTURE, {"formData": {"since": "soon"}}, "formData.since", "must be a date or a time in ISO 8601."),
    (
        CAPTURE,
        {"formData": {"score": "3"}, "submitAction": {"type": TRACK, "eventName": "answered"}},
        "submitAction",
        NOT_LISTED,
    ),
    (
        CAPTURE,
        {"formData": {"why": "x"}, "submitAction": sale.NPS_ACTION},
        "formData.score",
        "is required by the message.",
    ),
    (CAPTURE, {"formData": {"score": "many"}, "submitAction": sale.NPS_ACTION}, "formData.score", "must be a number."),
]


@each("path, fields", ALLOWED)
def test_enforced_a_message_does_what_it_lists(strict: SdkClient, path: str, fields: dict[str, Any]) -> None:
    assert call(strict, path, {"messageId": sale.KEY, **fields}).status_code == 200

    assert Interaction.objects.get().message_problems is None


@each("known", [False, True])
@each("path, fields, field, why", REFUSED)
def test_enforced_nothing_else_is_written_whether_or_not_the_person_exists(
    strict: SdkClient, acme: Workspace, path: str, fields: dict[str, Any], field: str, why: str, known: bool
) -> None:
    if known:
        CustomerFactory.create(workspace=acme, user_id="u-1", attributes={"plan": "free"})

    answer = call(strict, path, {"messageId": sale.KEY, **fields})

    assert answer.status_code == 422
    assert answer.json()["code"] == "not_in_message"
    assert answer.json()["details"] == [{"field": field, "message": why}]
    assert not Event.objects.exists()
    assert not Interaction.objects.exists()
    assert [customer.attributes for customer in Customer.objects.all()] == ([{"plan": "free"}] if known else [])


@each("status", [None, Message.Status.DRAFT, Message.Status.ARCHIVED])
@each("path, fields", [(ACTION, {"actionType": "close"}), (CAPTURE, {})])
def test_enforced_a_message_must_be_registered_and_active(
    strict: SdkClient, acme: Workspace, path: str, fields: dict[str, Any], status: str | None
) -> None:
    if status:
        MessageFactory.create(workspace=acme, key="spring", status=status)

    answer = call(strict, path, {"messageId": "spring", **fields})

    refused(answer, status=403, error="Message not registered")


def test_another_workspaces_message_is_none(rival: Workspace, message: Message, rival_sdk: SdkClient) -> None:
    App.objects.filter(id=rival_sdk.app.id).update(message_policy="enforce")

    refused(call(rival_sdk, ACTION, {"messageId": sale.KEY}), status=403, error="Message not registered")


@pytest.mark.usefixtures("message")
@each("path, fields", [(path, fields) for path, fields, _, _ in REFUSED])
def test_open_a_message_may_do_anything(sdk: SdkClient, path: str, fields: dict[str, Any]) -> None:
    assert call(sdk, path, {"messageId": sale.KEY, **fields}).status_code == 200

    recorded = Interaction.objects.get()
    assert (recorded.action_id, recorded.message_problems) == ("", None)


@each("path, fields, field, why", REFUSED)
def test_reported_it_is_written_as_it_came_and_marked(
    sdk: SdkClient, reporting: SdkClient, path: str, fields: dict[str, Any], field: str, why: str
) -> None:
    for client, person in [(sdk, "in-the-open"), (reporting, "reported")]:
        assert call(client, path, {"messageId": sale.KEY, **fields, "userId": person}).status_code == 200

    open_, reported = Interaction.objects.order_by("customer__user_id").select_related("customer", "event")
    assert reported.customer.attributes == open_.customer.attributes
    assert reported.form_data == open_.form_data
    assert (reported.event and reported.event.properties) == (open_.event and open_.event.properties)
    (problem,) = reported.message_problems or []
    assert (problem["field"], problem["why"]) == (field, why)


def test_reported_an_unknown_message_is_marked(reporting: SdkClient) -> None:
    assert call(reporting, ACTION, {"messageId": "spring"}).status_code == 200

    (problem,) = Interaction.objects.get().message_problems or []
    assert problem["reason"] == "message_not_registered"


def test_form_values_get_their_types(strict: SdkClient) -> None:
    form = {"score": "3", "why": "", "topics": "speed"}

    call(strict, CAPTURE, {"messageId": sale.KEY, "formData": form, "submitAction": sale.NPS_ACTION})

    event = Event.objects.get()
    assert event.properties == {"score": 3, "from": "nps"}
    assert Customer.objects.get().attributes == {"lastScore": 3}
    assert Interaction.objects.get().form_data == {"score": 3, "topics": ["speed"]}


@pytest.mark.usefixtures("message")
def test_with_an_action_id_the_definition_says_what_a_button_does(sdk: SdkClient) -> None:
    answer = call(sdk, ACTION, {"messageId": sale.KEY, "actionId": "cta", "actionType": None})

    event = Event.objects.get()
    assert answer.json()["data"] == {"eventId": event.id}
    assert (event.name, event.properties, event.message_id) == ("clicked", {"kind": "banner"}, sale.KEY)
    assert Interaction.objects.get().action_id == "cta"


@pytest.mark.usefixtures("message")
def test_what_the_definition_leaves_open_comes_from_the_call_or_the_form_around(sdk: SdkClient) -> None:
    MessageFactory.create(
        workspace=sdk.app.workspace,
        key="form",
        actions=[{"id": "send", "type": UPDATE, "attributes": {"age": {"type": "number"}, "city": {"type": "string"}}}],
        forms=[{"id": "f", "fields": {"age": {"type": "number"}, "city": {"type": "string"}}}],
    )
    about = {"messageId": "form", "actionId": "send", "actionType": None}

    call(sdk, ACTION, {**about, "formData": {"age": "42", "city": "Ulm"}})
    call(sdk, ACTION, {**about, "actionData": {"profileAttributes": {"city": "Bern"}}})

    assert Customer.objects.get().attributes == {"age": 42, "city": "Bern"}


@pytest.mark.usefixtures("message")
def test_with_an_action_id_the_definition_says_what_a_form_does(sdk: SdkClient) -> None:
    call(sdk, CAPTURE, {"messageId": sale.KEY, "actionId": "nps", "formData": {"score": "7"}})

    assert Event.objects.get().properties == {"score": 7, "from": "nps"}
    assert Customer.objects.get().attributes == {"lastScore": 7}


@pytest.mark.usefixtures("message")
@each(
    "path, fields, status",
    [
        (ACTION, {"actionId": "nothing"}, 422),
        (ACTION, {"actionId": "opt"}, 422),
        (ACTION, {"actionId": "cta", "actionType": "close"}, 422),
        (ACTION, {"actionId": "cta", **clicked(vip=True)}, 422),
        (ACTION, {"actionId": "cta", "messageId": "unknown"}, 403),
        (CAPTURE, {"actionId": "nps", "formData": {"score": "11"}}, 422),
        (CAPTURE, {"actionId": "nps", "formData": {"score": "1", "vip": "yes"}}, 422),
        (CAPTURE, {"actionId": "nps", "formData": {"score": "1"}, "submitAction": {"type": UPDATE}}, 422),
    ],
)
@each("policy", App.MessagePolicy)
def test_an_action_id_is_held_to_its_definition_under_every_policy(
    sdk: SdkClient, path: str, fields: dict[str, Any], status: int, policy: str
) -> None:
    App.objects.filter(id=sdk.app.id).update(message_policy=policy)
    if path == ACTION and "actionType" not in fields:
        fields = {**fields, "actionType": None}
    if fields.get("actionId") == "opt":  # of its two values the page names one
        fields = {**fields, "actionData": {"profileAttributes": {"plan": "gold"}}}

    answer = call(sdk, path, {"messageId": sale.KEY, **fields})

    refused(answer, status=status, error="Not in the message" if status == 422 else "Message not registered")


def test_a_definition_costs_one_query_and_nothing_where_the_policy_is_open(
    sdk: SdkClient, strict: SdkClient, acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    CustomerFactory.create(workspace=acme, user_id="u-1")

    for client, queries in [(sdk, 2), (strict, 3)]:
        with django_assert_num_queries(queries):
            assert call(client, ACTION, {"messageId": sale.KEY, **clicked(n=1)}).status_code == 200
