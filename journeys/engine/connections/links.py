"""The links of messages, for workspaces that have topics: there is nothing to leave in others."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial

from django.conf import settings

from customers.models import Topic
from customers.preferences.links import Link, address_of
from journeys.steps.links import Links

_ONE_CLICK = "List-Unsubscribe=One-Click"  # the only value that RFC 8058 knows


def links_of(workspace_ids: Collection[str]) -> Mapping[str, Links]:
    """By workspace, in one statement; none without PUBLIC_URL."""
    if not settings.PUBLIC_URL or not workspace_ids:
        return {}
    having = Topic.objects.filter(workspace__in=workspace_ids).values_list("workspace_id", flat=True).distinct()
    return {workspace_id: partial(_links, workspace_id) for workspace_id in having}


def _links(
    workspace_id: str, *, customer_id: str, enrollment_id: str, step_id: str, topic: str, channel: str, at: datetime
) -> Mapping[str, object]:
    token = Link(
        workspace_id=workspace_id, customer_id=customer_id, topic=topic, channel=channel,
        enrollment_id=enrollment_id, step_id=step_id, at=at,
    ).token  # fmt: skip
    preferences = address_of("preferences", token)
    if not topic:
        return {"unsubscribe": {"url": preferences}, "preferences": {"url": preferences}}
    url = address_of("unsubscribe", token)
    headers = {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": _ONE_CLICK}
    listed = [{"Name": name, "Value": value} for name, value in headers.items()]
    return {
        "unsubscribe": {"url": url, "headers": headers, "headerList": listed},
        "preferences": {"url": preferences},
    }
