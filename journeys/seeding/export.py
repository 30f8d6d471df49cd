"""A workspace as a seed file: what is defined in it, without customers, members and secrets. The same each time."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engage.models import ApiKey, App, Workspace
from engage.notations.recipients import addresses_in
from engage.resources.fields import Item
from engage.resources.resource import Resource
from journeys.models import Journey
from journeys.seeding.access import written_api_key, written_app
from journeys.steps.secrets import Change, Path, is_open

Sections = Mapping[str, Sequence[Item]]


def items_of(workspace: Workspace) -> dict[str, list[Item]]:
    """What is defined in the workspace, by section, in the order of keys and names; secrets stand in it as they are.

    Archived journeys and revoked keys are not in it. A key for some journeys names those that are; one that is left
    with none, or that has no scope, is not in it, because a file cannot say so.
    """
    own = {"workspace": workspace}
    key_of = dict(Journey.objects.filter(**own, archived_at=None).values_list("id", "key"))
    keys = [
        written_api_key(key, key_of) for key in ApiKey.objects.filter(**own, revoked_at=None).order_by("name", "id")
    ]
    return {
        "apiKeys": [key for key in keys if [] not in key.values()],
        "apps": [written_app(app) for app in App.objects.filter(**own).order_by("name", "id")],
        **{kind.section: kind.all_written(workspace.pk) for kind in Resource.all()},
    }


def exported(workspace: Workspace) -> dict[str, Any]:
    """The seed file. Each secret is what the environment is to have: `{"env": "ENGAGE_MAIL_X_TOKEN"}`."""
    found, names = items_of(workspace), Counter[str]()
    for kind in Resource.all():
        found[kind.section] = [_without_secrets(kind, item, names) for item in found[kind.section]]
    packed = {kind.section: kind.packed(found[kind.section]) for kind in Resource.all()}
    return {
        "workspace": {
            "key": workspace.key,
            "name": workspace.name,
            **({"feed": True} if workspace.feed else {}),
            **({"defaultCountry": workspace.default_country} if workspace.default_country else {}),
            **_written_alerts(workspace),
        },
        **{name: packed.get(name, items) for name, items in found.items() if items},
    }


def _written_alerts(workspace: Workspace) -> Item:
    emails, connection = addresses_in(workspace.alert_emails), workspace.alert_connection
    alerts = {name: value for name, value in (("emails", emails), ("connection", connection)) if value}
    return {"alerts": alerts} if alerts else {}


def _without_secrets(kind: Resource[Any], item: Item, names: Counter[str]) -> Item:
    def of_step(step_id: str) -> Change:
        def named(path: Path, value: Any) -> Any:
            if is_open(path):
                return value
            parts = [item["key"], step_id, *(path[1:] if path[0] == "headers" else path)]
            name = re.sub(r"[^A-Z0-9]+", "_", " ".join(["engage", *filter(None, parts)]).upper())
            names[name] += 1
            return {"env": f"{name}_{names[name]}" if names[name] > 1 else name}

        return named

    return kind.with_secrets(item, of_step)
