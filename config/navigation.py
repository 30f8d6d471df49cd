"""The admin's sidebar: every list, grouped by subject and shown to users who may view it.

Unfold imports it for the first page, not for the settings: it needs the models.
"""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse_lazy

from bridge.models import Interaction
from customers.models import Customer, Event, Segment, SegmentMembership
from engage.admin.columns import may_view
from engage.models import ApiKey, App, Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, JourneyRevision, Trigger, WebhookSecret


def _list(title: str, icon: str, model: type[Model]) -> dict[str, Any]:
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"),
        "permission": lambda request: may_view(model, request=request),
    }


def _group(title: str, *lists: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "separator": True, "items": list(lists)}


_NAVIGATION = [
    {"items": [{"title": "Overview", "icon": "monitoring", "link": reverse_lazy("admin:index")}]},
    _group(
        "Journeys",
        _list("Journeys", "route", Journey),
        _list("Triggers", "bolt", Trigger),
        _list("Jobs", "fact_check", EnrollmentJob),
        _list("Enrollments", "directions_walk", Enrollment),
        _list("Waiting chunks", "hourglass_top", Chunk),
        _list("Journey revisions", "history", JourneyRevision),
    ),
    _group(
        "Customers",
        _list("Customers", "person", Customer),
        _list("Segments", "groups", Segment),
        _list("Segment members", "group_add", SegmentMembership),
        _list("Events", "event_note", Event),
        _list("In-app interactions", "touch_app", Interaction),
    ),
    _group(
        "Access",
        _list("Workspaces", "domain", Workspace),
        _list("API keys", "key", ApiKey),
        _list("Apps", "devices", App),
        _list("Webhook secrets", "signature", WebhookSecret),
        _list("Users", "badge", User),
        _list("Groups", "shield_person", Group),
    ),
]


def sidebar(_request: HttpRequest) -> list[dict[str, Any]]:
    """Every group of lists; Unfold asks each list's `permission` (UNFOLD["SIDEBAR"]["navigation"])."""
    return _NAVIGATION
