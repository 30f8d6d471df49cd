"""The admin's sidebar: every list, grouped by subject and shown to staff who may view it or add to it.

Unfold imports it for the first page, not for the settings: it needs the models.
"""

from itertools import chain
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse_lazy

from bridge.models import Interaction, Message
from customers.models import Customer, Event, Segment, SegmentMembership
from engage.admin.columns import may_view
from engage.models import ApiKey, App, AuditEntry, IdentityKey, Membership, Workspace
from journeys.models import (
    Chunk,
    Enrollment,
    EnrollmentJob,
    Journey,
    JourneyRevision,
    SteeredHost,
    SteeringAct,
    Trigger,
    WebhookDelivery,
    WebhookSecret,
)


def _list(title: str, icon: str, model: type[Model]) -> list[dict[str, Any]]:
    """The list, and for staff who may not view it but add to it, the page for that."""

    def may_only_add(request: HttpRequest) -> bool:
        may_add: bool = admin.site.get_model_admin(model).has_add_permission(request)
        return may_add and not may_view(model, request=request)

    pages = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    return [
        {
            "title": title,
            "icon": icon,
            "link": reverse_lazy(f"{pages}_changelist"),
            "permission": lambda request: may_view(model, request=request),
        },
        {
            "title": f"Add {model._meta.verbose_name}",
            "icon": icon,
            "link": reverse_lazy(f"{pages}_add"),
            "permission": may_only_add,
        },
    ]


def _group(title: str, *lists: list[dict[str, Any]]) -> dict[str, Any]:
    return {"title": title, "separator": True, "items": list(chain(*lists))}


_NAVIGATION = [
    {"items": [{"title": "Overview", "icon": "monitoring", "link": reverse_lazy("admin:index")}]},
    _group(
        "Journeys",
        _list("Journeys", "route", Journey),
        _list("Failures", "error", WebhookDelivery),
        _list("Triggers", "bolt", Trigger),
        _list("Jobs", "fact_check", EnrollmentJob),
        _list("Enrollments", "directions_walk", Enrollment),
        _list("Steering acts", "tune", SteeringAct),
        _list("Steered hosts", "dns", SteeredHost),
        _list("Waiting batches", "hourglass_top", Chunk),
        _list("Journey revisions", "history", JourneyRevision),
    ),
    _group(
        "Customers",
        _list("Customers", "person", Customer),
        _list("Segments", "groups", Segment),
        _list("Segment members", "group_add", SegmentMembership),
        _list("Events", "event_note", Event),
    ),
    _group(
        "In-app messages",
        _list("In-app messages", "chat_bubble", Message),
        _list("In-app interactions", "touch_app", Interaction),
    ),
    _group(
        "Access",
        _list("Workspaces", "domain", Workspace),
        _list("API keys", "key", ApiKey),
        _list("Apps", "devices", App),
        _list("Identity keys", "fingerprint", IdentityKey),
        _list("Webhook secrets", "signature", WebhookSecret),
        _list("Memberships", "group", Membership),
        _list("Audit entries", "policy", AuditEntry),
        _list("Users", "badge", User),
        _list("Groups", "shield_person", Group),
    ),
]


def sidebar(_request: HttpRequest) -> list[dict[str, Any]]:
    """Every group of lists; Unfold asks each link's `permission` (UNFOLD["SIDEBAR"]["navigation"])."""
    return _NAVIGATION
