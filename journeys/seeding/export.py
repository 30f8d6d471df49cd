"""A workspace as a seed file: what is defined in it, without customers, members and secrets. The same each time."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from customers.models import Segment
from engage.models import ApiKey, App, Workspace
from engage.recipients import addresses_in
from journeys.models import Connection, Journey, Subscription, Variable
from journeys.seeding.access import written_api_key, written_app
from journeys.seeding.sections import SECTIONS
from journeys.seeding.written import (
    Item,
    with_secrets_changed,
    written_connection,
    written_journeys,
    written_segment,
    written_subscription,
    written_variable,
)
from journeys.steps.secrets import Change, Path, is_open

Sections = Mapping[str, Sequence[Item]]


def items_of(workspace: Workspace) -> dict[str, list[Item]]:
    """What is defined in the workspace, by section, in the order of keys and names; secrets stand in it as they are.

    Archived journeys and revoked keys are not in it. A key for some journeys names those that are; one that is left
    with none, or that has no scope, is not in it, because a file cannot say so.
    """
    own = {"workspace": workspace}
    journeys = list(Journey.objects.filter(**own, archived_at=None).order_by("key"))
    key_of = {journey.id: journey.key for journey in journeys}
    keys = [
        written_api_key(key, key_of) for key in ApiKey.objects.filter(**own, revoked_at=None).order_by("name", "id")
    ]
    return {
        "apiKeys": [key for key in keys if [] not in key.values()],
        "apps": [written_app(app) for app in App.objects.filter(**own).order_by("name", "id")],
        "segments": [written_segment(segment) for segment in Segment.objects.filter(**own).order_by("key")],
        "variables": [written_variable(variable) for variable in Variable.objects.filter(**own).order_by("name")],
        "connections": [written_connection(one) for one in Connection.objects.filter(**own).order_by("key")],
        "journeys": written_journeys(journeys),
        "subscriptions": [written_subscription(one) for one in Subscription.objects.filter(**own).order_by("key")],
        **{name: section.write(workspace) for name, section in SECTIONS.items()},
    }


def exported(workspace: Workspace) -> dict[str, Any]:
    """The seed file. Each secret is what the environment is to have: `{"env": "ENGAGE_MAIL_X_TOKEN"}`."""
    found, names = items_of(workspace), Counter[str]()
    for section in ("connections", "journeys"):
        found[section] = [_without_secrets(item, names) for item in found[section]]
    variables = {item["key"]: item["value"] for item in found["variables"]}
    return {
        "workspace": {
            "key": workspace.key,
            "name": workspace.name,
            **({"feed": True} if workspace.feed else {}),
            **({"defaultCountry": workspace.default_country} if workspace.default_country else {}),
            **_written_alerts(workspace),
        },
        **{name: variables if name == "variables" else items for name, items in found.items() if items},
    }


def _written_alerts(workspace: Workspace) -> Item:
    emails, connection = addresses_in(workspace.alert_emails), workspace.alert_connection
    alerts = {name: value for name, value in (("emails", emails), ("connection", connection)) if value}
    return {"alerts": alerts} if alerts else {}


def _without_secrets(item: Item, names: Counter[str]) -> Item:
    def of_step(step_id: str) -> Change:
        def named(path: Path, value: Any) -> Any:
            if is_open(path):
                return value
            parts = [item["key"], step_id, *(path[1:] if path[0] == "headers" else path)]
            name = re.sub(r"[^A-Z0-9]+", "_", " ".join(["engage", *filter(None, parts)]).upper())
            names[name] += 1
            return {"env": f"{name}_{names[name]}" if names[name] > 1 else name}

        return named

    return with_secrets_changed(item, of_step)
