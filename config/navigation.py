"""The admin's sidebar: every list, by task, shown to staff who may view it or add to it.

Unfold imports it for the first page, not for the settings: it needs the models.
"""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from bridge.models import Interaction, Message
from config.monitoring.health_page import sees_health
from customers.models import ContactRules, Customer, Event, Segment, SegmentMembership
from engage.admin.parts.columns import may_view
from engage.admin.parts.definitions import definitions_with_icon
from engage.models import ApiKey, App, AuditEntry, IdentityKey, Membership, Workspace
from journeys.delivery.sent import kinds_seen
from journeys.models import (
    Chunk,
    Connection,
    Enrollment,
    EnrollmentJob,
    InAppDelivery,
    Journey,
    JourneyRevision,
    Push,
    SteeredHost,
    SteeringAct,
    Trigger,
    WebhookDelivery,
    WebhookSecret,
)

# By what staff come for; all else is folded.
_LISTS: dict[str, list[tuple[str, str, type[Model]]]] = {
    "": [
        ("Journeys", "route", Journey),
        ("Customers", "person", Customer),
        ("Segments", "groups", Segment),
        ("In-app messages", "chat_bubble", Message),
        ("Connections", "power", Connection),
        ("Failures", "error", WebhookDelivery),
    ],
    "Operations": [
        ("Enrollments", "directions_walk", Enrollment),
        ("Triggers", "bolt", Trigger),
        ("Jobs", "fact_check", EnrollmentJob),
        ("Events", "event_note", Event),
        ("In-app deliveries", "mark_chat_read", InAppDelivery),
        ("In-app interactions", "touch_app", Interaction),
        ("Segment members", "group_add", SegmentMembership),
        ("Journey revisions", "history", JourneyRevision),
        ("Pushes", "send", Push),
        ("Steering acts", "tune", SteeringAct),
        ("Steered hosts", "dns", SteeredHost),
        ("Waiting batches", "hourglass_top", Chunk),
    ],
    "Settings": [
        ("Workspaces", "domain", Workspace),
        ("Memberships", "group", Membership),
        ("API keys", "key", ApiKey),
        ("Apps", "devices", App),
        *definitions_with_icon(),
        ("Contact policies", "schedule_send", ContactRules),
        ("Identity keys", "fingerprint", IdentityKey),
        ("Webhook secrets", "signature", WebhookSecret),
        ("Audit entries", "policy", AuditEntry),
        ("Users", "badge", User),
        ("Groups", "shield_person", Group),
    ],
}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of links that this member of staff may follow, as UNFOLD["SIDEBAR"]["navigation"] wants them.

    Nothing is left for Unfold to find out: it would make a class for each link, for every page.
    """
    more = {"": [_page("Overview", "monitoring", reverse("admin:index"), request)], "Operations": []}
    if kinds_seen(request):
        more["Operations"].append(
            _page("Deliveries", "outgoing_mail", reverse("admin:journeys_webhookdelivery_sent"), request)
        )
    if sees_health(request):
        more["Operations"].append(_page("Health", "ecg_heart", reverse("health"), request))
    groups = []
    for title, lists in _LISTS.items():
        links = [link for listed in lists if (link := _link(*listed, request=request))]
        items = [*more.get(title, []), *links]
        folded = bool(title) and not any(item["active"] for item in items)
        groups.append(
            {"title": title, "separator": bool(title), "collapsible": bool(title), "folded": folded, "items": items}
        )
    return groups


def _page(title: str, icon: str, address: str, request: HttpRequest) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": address, "active": request.path == address}


def _link(title: str, icon: str, model: type[Model], *, request: HttpRequest) -> dict[str, Any] | None:
    """To the list, or for staff who may not view it but add to it, to the page for that; None if they may neither."""
    pages = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    if may_view(model, request=request):
        address = reverse(f"{pages}_changelist")
    elif admin.site.get_model_admin(model).has_add_permission(request):
        title, address = f"Add {model._meta.verbose_name}", reverse(f"{pages}_add")
    else:
        return None
    own = request.path.removeprefix(address)
    active = request.path.startswith(address) and not own.startswith("sent/")
    return {"title": title, "icon": icon, "link": address, "active": active}
