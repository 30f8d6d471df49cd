"""The admin's sidebar: every list, grouped by subject and shown to staff who may view it or add to it.

Unfold imports it for the first page, not for the settings: it needs the models.
"""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from bridge.models import Interaction, Message
from config.monitoring.standing import sees_health
from customers.models import Customer, Event, Segment, SegmentMembership
from engage.admin.parts.columns import may_view
from engage.models import ApiKey, App, AuditEntry, IdentityKey, Membership, Workspace
from journeys.models import (
    Chunk,
    Connection,
    Enrollment,
    EnrollmentJob,
    InAppDelivery,
    Journey,
    JourneyRevision,
    SteeredHost,
    SteeringAct,
    Trigger,
    Variable,
    WebhookDelivery,
    WebhookSecret,
)

_LISTS: dict[str, list[tuple[str, str, type[Model]]]] = {
    "Journeys": [
        ("Journeys", "route", Journey),
        ("Failures", "error", WebhookDelivery),
        ("Triggers", "bolt", Trigger),
        ("Jobs", "fact_check", EnrollmentJob),
        ("Enrollments", "directions_walk", Enrollment),
        ("Connections", "power", Connection),
        ("Variables", "data_object", Variable),
        ("Steering acts", "tune", SteeringAct),
        ("Steered hosts", "dns", SteeredHost),
        ("Waiting batches", "hourglass_top", Chunk),
        ("Journey revisions", "history", JourneyRevision),
    ],
    "Customers": [
        ("Customers", "person", Customer),
        ("Segments", "groups", Segment),
        ("Segment members", "group_add", SegmentMembership),
        ("Events", "event_note", Event),
    ],
    "In-app messages": [
        ("In-app messages", "chat_bubble", Message),
        ("In-app deliveries", "mark_chat_read", InAppDelivery),
        ("In-app interactions", "touch_app", Interaction),
    ],
    "Access": [
        ("Workspaces", "domain", Workspace),
        ("API keys", "key", ApiKey),
        ("Apps", "devices", App),
        ("Identity keys", "fingerprint", IdentityKey),
        ("Webhook secrets", "signature", WebhookSecret),
        ("Memberships", "group", Membership),
        ("Audit entries", "policy", AuditEntry),
        ("Users", "badge", User),
        ("Groups", "shield_person", Group),
    ],
}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of links that this member of staff may follow, as UNFOLD["SIDEBAR"]["navigation"] wants them.

    Nothing is left for Unfold to find out: it would make a class for each link, for every page.
    """
    index = reverse("admin:index")
    overview = {"title": "Overview", "icon": "monitoring", "link": index, "active": request.path == index}
    items = [overview]
    if sees_health(request):
        address = reverse("health")
        items.append({"title": "Health", "icon": "ecg_heart", "link": address, "active": request.path == address})
    return [{"items": items}, *(_group(title, request=request) for title in _LISTS)]


def _group(title: str, *, request: HttpRequest) -> dict[str, Any]:
    links = [link for listed in _LISTS[title] if (link := _link(*listed, request=request))]
    return {"title": title, "separator": True, "items": links}


def _link(title: str, icon: str, model: type[Model], *, request: HttpRequest) -> dict[str, Any] | None:
    """To the list, or for staff who may not view it but add to it, to the page for that; None if they may neither."""
    pages = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    if may_view(model, request=request):
        address = reverse(f"{pages}_changelist")
    elif admin.site.get_model_admin(model).has_add_permission(request):
        title, address = f"Add {model._meta.verbose_name}", reverse(f"{pages}_add")
    else:
        return None
    return {"title": title, "icon": icon, "link": address, "active": address in request.path}
