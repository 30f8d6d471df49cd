"""The links of messages, for workspaces that have topics: there is nothing to leave in others."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

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
    workspace_id: str, *, topic: str, channel: str, confirms: tuple[str, str] | None, **of_message: Any
) -> Mapping[str, object]:
    link = Link(workspace_id=workspace_id, topic=topic, channel=channel, **of_message)
    token = link.token
    url = address_of("unsubscribe" if topic else "preferences", token)
    headers = {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": _ONE_CLICK}
    listed = [{"Name": name, "Value": value} for name, value in headers.items()]
    links: dict[str, object] = {
        "unsubscribe": {"url": url, **({"headers": headers, "headerList": listed} if topic else {})},
        "preferences": {"url": address_of("preferences", token)},
    }
    if confirms is not None:
        asked = replace(link, topic=confirms[0], channel=confirms[1])
        links["confirm"] = {"url": address_of("confirm", asked.token)}
    return links
