"""Payload in templates: what came with the trigger, and the customer's fields, in the webhooks of the journey."""

import json
from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.webhooks.client import Limits
from tests.journeys.webhooks.standing import send
from tests.support.bridge_calls import submit
from tests.support.calls import data, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import JourneyFactory
from tests.support.receiver import Arrived, running

pytestmark = pytest.mark.ada(email="ada@example.com", attributes={"limit": 500, "plan": "pro"})


def webhook_after(server: ServerClient, acme: Workspace, call: dict[str, Any], **step: Any) -> Arrived:
    """The one request that arrives after a trigger of a journey with this webhook step."""
    with running() as receiver:
        tell = {"id": "tell", "type": "webhook", "url": receiver.url(), **step}
        data(trigger(server, JourneyFactory.create(workspace=acme, steps=[tell]), call))
        let_workers_walk()
        send(limits=Limits())
    (arrived,) = receiver.arrived
    return arrived


@each("sent_as", ["payload", "properties"])
@each("named", [{"external_id": "ada"}, {"external_ids": ["ada"]}])
def test_the_payload_is_read_as_api_payload_and_as_api_properties(
    server: ServerClient, acme: Workspace, ada: Customer, named: dict[str, Any], sent_as: str
) -> None:
    body = {
        "{{ kept }}": ["{{ api.payload.coupon }}", {"{{api.properties.coupon}}": "{{api.properties.order.id}}!"}],
        "n": 1,
    }
    call = {**named, sent_as: {"coupon": '"WELCOME10"', "order": {"id": 7}}}
    arrived = webhook_after(server, acme, call, method="PUT", body=body)
    assert arrived.method == "PUT"
    assert json.loads(arrived.body) == {"{{ kept }}": ['"WELCOME10"', {"{{api.properties.coupon}}": "7!"}], "n": 1}


def test_the_customer_s_fields_are_read_as_customer(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    body = ["{{ customer.email }}", "{{ customer.external_id }}", "{{ customer.plan }}", "[{{ customer.phone }}]"]
    arrived = webhook_after(server, acme, {"external_id": "ada"}, body=body)
    assert arrived.method == "POST"
    assert json.loads(arrived.body) == ["ada@example.com", "ada", "pro", "[]"]


def test_no_text_that_anybody_types_into_a_form_keeps_a_customer_from_going_on(
    server: ServerClient, sdk: SdkClient, acme: Workspace, ada: Customer
) -> None:
    assert submit(sdk, external_id="ada", formData={"name": "<![ada[x]]>", "told": "<" * 12_000}).status_code == 200
    body = ["[{{ customer.name | strip_html }}]", "{{ customer.told | strip_html | size }}"]
    arrived = webhook_after(server, acme, {"external_id": "ada"}, body=body)
    assert json.loads(arrived.body) == ["[]", "12000"]


def test_a_key_may_be_a_word_that_templates_use_themselves(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    call = {"external_id": "ada", "payload": {"limit": 100, "for": {"in": "Ulm"}, "2fa": True, "order no": "A-1"}}
    body = [
        "{{ customer.limit }}/{{ api.payload.limit }}",
        "{{ api.properties.for.in }}",
        "{{ api.payload.2fa }}",
        '{{ api.payload["order no"] }}',
    ]
    arrived = webhook_after(server, acme, call, body=body)
    assert json.loads(arrived.body) == ["500/100", "Ulm", "true", "A-1"]
