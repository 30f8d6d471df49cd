"""GET …/contact: may they be written to, and by which rules."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from customers.contact.reach import suppress
from customers.contact.topics import TOPICS
from customers.models import ContactRing, Customer, Suppression
from engage.json.instants import iso_utc
from engage.models import Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory

pytestmark = pytest.mark.django_db
OUT: dict[str, Any] = {"topic": "offers", "channel": "email", "state": "unsubscribed"}


def asked(server: ServerClient, customer: Customer, query: str) -> tuple[str, str, dict[str, str]]:
    """The verdict, the rule, and the states of all rules."""
    found = data(server.get(customers_path(customer.workspace, customer.id, f"contact?{query}")), status=200)
    return found["verdict"], found["rule"], {one["rule"]: one["state"] for one in found["rules"]}


def test_the_first_rule_that_says_no_decides_and_all_are_told(server: ServerClient, acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme, email="ada@example.com", phone=None)
    TOPICS.save(workspace=acme, key="offers", now=timezone.now(), channels=["email", "sms"], default="opted_in")
    cap = {"key": "week", "channels": ["email"], "atMost": 1, "per": "P7D"}
    data(server.put("/api/v1/contact-policy/acme", {"caps": [cap]}), status=201)
    about = "channel=email&topic=offers"
    states = {"reach": "reachable", "consent": "unknown", "cap:week": "free"}
    assert asked(server, ada, about) == ("send", "", states)
    ContactRing.objects.create(workspace=acme, customer=ada, cap="week", times=[timezone.now()])
    assert asked(server, ada, about) == ("skip", "cap:week", states | {"cap:week": "capped"})
    path = customers_path(acme, ada.id, "consents")
    left = iso_utc(timezone.now() - timedelta(days=1))
    data(server.put(path, {"consents": [OUT | {"occurredAt": left}]}), status=200)
    assert asked(server, ada, about)[:2] == ("skip", "consent")
    before = iso_utc(timezone.now() - timedelta(days=2))
    assert asked(server, ada, f"{about}&at={before}") == ("send", "", states)
    assert asked(server, ada, "channel=email")[:2] == ("send", "")
    suppress(workspace_id=acme.id, channel="email", address="ada@example.com", reason=Suppression.Reason.HARD_BOUNCE)
    for query in ("channel=email", about):
        assert asked(server, ada, query)[:2] == ("skip", "reach")
    assert asked(server, ada, "channel=sms")[2] == {"reach": "no_address"}


def test_what_is_wrong_names_the_parameter(server: ServerClient, ada: Customer) -> None:
    for query, message in {
        "topic=x": "topic is 'x', which is no topic of this workspace.",
        "at=soon": "at must be an instant in ISO 8601 with an offset, like 2026-11-20T19:08:00Z.",
        "channel=fax": "channel must be one of email, sms, push, chat, in_app, not 'fax'.",
    }.items():
        answer = server.get(customers_path(ada.workspace, ada.id, f"contact?{query}"))
        assert refused(answer, status=400, error="Invalid request") == message
