"""The admin's page Health: what each rule of standing.py comes to now, and which alerts hold, of all workspaces."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from config.monitoring.standing import standing
from engage.admin.parts.columns import may_view
from engage.admin.rights.reach import reach_of
from engage.models import Alert
from journeys.models import Chunk, Enrollment, WebhookDelivery

_MOST_ALERTS = 200


def sees_health(request: HttpRequest) -> bool:
    """Staff who see all workspaces and may view what waits: it is about everybody's work."""
    work = (Chunk, Enrollment, WebhookDelivery)
    return reach_of(request.user).workspaces is None and any(may_view(one, request=request) for one in work)


@never_cache
def health(request: HttpRequest) -> HttpResponse:
    """The page Health."""
    if not sees_health(request):
        raise PermissionDenied
    found = sorted(standing(), key=lambda one: one.wrong is False)
    context: dict[str, Any] = {**admin.site.each_context(request), "title": "Health", "found": found}
    context["alerts"] = (
        Alert.objects.filter(ended_at=None).select_related("workspace").order_by("began_at")[:_MOST_ALERTS]
    )
    return render(request, "config/health.html", context)
