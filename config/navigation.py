"""The admin's sidebar: every list, grouped by subject and shown to users who may view it."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy


def _list(title: str, icon: str, app: str, model: str) -> dict[str, Any]:
    def may_see(request: HttpRequest) -> bool:
        return bool(request.user.has_perm(f"{app}.view_{model}"))

    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{app}_{model}_changelist"),
        "permission": may_see,
    }


def _group(title: str, *lists: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "separator": True, "items": list(lists)}


NAVIGATION = [
    {"items": [{"title": "Overview", "icon": "monitoring", "link": reverse_lazy("admin:index")}]},
    _group(
        "Journeys",
        _list("Journeys", "route", "journeys", "journey"),
        _list("Triggers", "bolt", "journeys", "trigger"),
        _list("Jobs", "fact_check", "journeys", "enrollmentjob"),
        _list("Enrollments", "directions_walk", "journeys", "enrollment"),
        _list("Waiting chunks", "hourglass_top", "journeys", "chunk"),
        _list("Journey revisions", "history", "journeys", "journeyrevision"),
    ),
    _group(
        "Customers",
        _list("Customers", "person", "customers", "customer"),
        _list("Segments", "groups", "customers", "segment"),
        _list("Segment members", "group_add", "customers", "segmentmembership"),
        _list("Events", "event_note", "customers", "event"),
        _list("In-app interactions", "touch_app", "bridge", "interaction"),
    ),
    _group(
        "Access",
        _list("Workspaces", "domain", "engage", "workspace"),
        _list("API keys", "key", "engage", "apikey"),
        _list("Apps", "devices", "engage", "app"),
        _list("Webhook secrets", "signature", "journeys", "webhooksecret"),
        _list("Users", "badge", "auth", "user"),
        _list("Groups", "shield_person", "auth", "group"),
    ),
]
