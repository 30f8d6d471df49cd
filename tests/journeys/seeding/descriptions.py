"""What the tests of seeding describe, and where they look."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model

from customers.models import Customer, Segment, SegmentMembership
from engage.models import ApiKey, App, Workspace
from journeys.models import Journey, JourneyRevision

TABLES: list[type[Model]] = [Workspace, ApiKey, App, Customer, Segment, SegmentMembership, Journey, JourneyRevision]
DESCRIPTION: dict[str, Any] = {
    "workspace": {"key": "acme", "name": "Acme"},
    "apiKeys": [{"name": "server", "rateLimit": "100/m"}],
    "apps": [{"name": "web", "allowedOrigins": ["https://Shop.example/"]}],
    "customers": [
        {
            "external_id": "ada",
            "email": "Ada@Example.com",
            "phone": "+1 415 555 2671",
            "userId": None,
            "attributes": {"plan": "pro", "seats": 3},
        },
        {"email": "grace@example.com"},
    ],
    "segments": [
        {"key": "vip", "name": "VIP", "members": ["ada", "grace@example.com"]},
        {"key": "pro", "conditions": {"field": "customer.plan", "op": "eq", "value": "pro"}},
    ],
    "journeys": [
        {
            "key": "welcome",
            "name": "Welcome",
            "trigger": "api",
            "eventName": None,
            "active": True,
            "maxEntriesPerCustomer": None,
            "allowReenrollment": False,
            "entryConditions": None,
            "steps": [{"id": "wait", "type": "delay", "for": "P1D"}],
        },
        {
            "key": "won-back",
            "trigger": "event",
            "eventName": "renewed",
            "where": {"field": "event.properties.price", "op": "gt", "value": 10},
            "fromBridge": False,
            "exitOn": [{"event": "left"}],
        },
    ],
}

Seed = Callable[..., dict[str, Any]]


def described(**parts: Any) -> dict[str, Any]:
    return {"workspace": {"key": "acme"}, **parts}


def everything() -> dict[str, list[dict[str, Any]]]:
    return {table.__name__: list(table._default_manager.order_by("pk").values()) for table in TABLES}


def members_of(key: str) -> set[str]:
    members = SegmentMembership.objects.filter(segment__key=key).select_related("customer")
    return {one.customer.external_id or str(one.customer) for one in members}


def customer(**identifiers: Any) -> dict[str, Any]:
    found = Customer.objects.values("external_id", "email", "phone", "user_id", "attributes").get(**identifiers)
    return {name: value for name, value in found.items() if value is not None}
