"""`customer.email` is the customer's address, wherever it stands; an attribute called so is another thing."""

import json
from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.webhooks.client import Limits
from journeys.models import Enrollment, Journey
from tests.journeys.webhooks.standing import send
from tests.support.bridge_calls import submit
from tests.support.calls import data, job_of, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.receiver import running

NAMES = ["email", "phone", "userId", "external_id"]
THEIRS = "attacker@evil.example"
FORM = dict.fromkeys(NAMES, THEIRS)


@pytest.fixture
def ada(acme: Workspace, sdk: SdkClient) -> Customer:
    """Known by her external id; a stranger has sent a form for her, with fields that are called like identifiers."""
    ada: Customer = CustomerFactory.create(workspace=acme, external_id="ada")
    assert submit(sdk, userId=None, external_id="ada", formData=FORM).status_code == 200
    ada.refresh_from_db()
    assert (ada.attributes, ada.email, ada.phone, ada.user_id, ada.external_id) == (FORM, None, None, None, "ada")
    return ada


def walk_through(server: ServerClient, acme: Workspace, *steps: dict[str, Any], **beside: Any) -> Enrollment:
    """Ada's enrollment in a journey of these steps, as far as it goes."""
    data(trigger(server, JourneyFactory.create(workspace=acme, steps=list(steps), **beside), {"external_id": "ada"}))
    let_workers_walk()
    return Enrollment.objects.get()


@each("email, sent_to", [(None, ""), ("ada@example.com", "ada@example.com")])
def test_a_form_does_not_decide_where_a_customer_s_mail_goes(
    server: ServerClient, acme: Workspace, ada: Customer, email: str | None, sent_to: str
) -> None:
    Customer.objects.filter(id=ada.id).update(email=email)
    templates = {name: f"{{{{ customer.{name} }}}}" for name in NAMES}
    asked = "{{ customer.attributes.email }}"
    with running() as receiver:
        tell = {"id": "tell", "type": "webhook", "url": receiver.url(), "body": {**templates, "asked": asked}}
        walk_through(server, acme, tell | {"headers": {"x-to": "<{{ customer.email }}>"}})
        send(limits=Limits())
    (arrived,) = receiver.arrived
    assert json.loads(arrived.body) == {
        "email": sent_to, "phone": "", "userId": "", "external_id": "ada", "asked": THEIRS,
    }  # fmt: skip
    assert arrived.headers["x-to"] == f"<{sent_to}>"


# Whether the attribute is meant: in the second case, this proves that the first could have been met.
either = each("root, met", [("customer", False), ("customer.attributes", True)])
every_name = each("name", NAMES)


def a_a_test_of(root: str, name: str) -> dict[str, Any]:
    return {"field": f"{root}.{name}", "op": "eq", "value": THEIRS}


@either
@every_name
def test_a_form_does_not_open_a_journey(
    server: ServerClient, acme: Workspace, ada: Customer, root: str, met: bool, name: str
) -> None:
    journey: Journey = JourneyFactory.create(workspace=acme, entry_conditions=a_a_test_of(root, name))
    answered = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    result = job_of(server, acme.id, answered["jobId"])["result"]
    assert result == ("enrolled" if met else "conditions_not_met")


@either
@every_name
def test_a_form_puts_nobody_into_a_segment(
    server: ServerClient, acme: Workspace, ada: Customer, root: str, met: bool, name: str
) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions=a_a_test_of(root, name))
    answered = data(trigger(server, JourneyFactory.create(workspace=acme), {"segment_ids": [segment.id]}))
    assert answered["customersEnrolled"] == int(met)


@either
@every_name
def test_a_form_does_not_choose_the_way_of_a_branch(
    server: ServerClient, acme: Workspace, ada: Customer, root: str, met: bool, name: str
) -> None:
    branch = {
        "id": "which",
        "type": "branch",
        "cases": [{"if": a_a_test_of(root, name), "next": "theirs"}],
        "else": "ours",
    }
    ends = [{"id": end, "type": "exit", "reason": end} for end in ("theirs", "ours")]
    assert walk_through(server, acme, branch, *ends).exit_reason == ("theirs" if met else "ours")


@either
@every_name
def test_a_form_does_not_end_an_enrollment(
    server: ServerClient, acme: Workspace, ada: Customer, root: str, met: bool, name: str
) -> None:
    note = {"id": "note", "type": "update_profile", "attributes": {"noted": True}}
    enrollment = walk_through(server, acme, note, steps__exit_on=[{"if": a_a_test_of(root, name)}])
    assert enrollment.state == ("exited" if met else "completed")
