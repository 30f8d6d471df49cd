"""What a seed file would do: it is seeded, compared with what was there, and taken back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from customers.models import Customer, SegmentMembership
from engage.audit.facts import facts_of
from engage.models import Workspace
from engage.resources.resource import DefinitionWarning
from journeys.seeding.export import items_of
from journeys.seeding.seed import Seed, SeededWorkspace, seed_workspace

_Facts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What would be made, what would change and in which fields, and how many things of the file would stay.

    Each is named like `journeys welcome`. `drift` is in the workspace and not in the file, which leaves it alone.
    """

    create: Sequence[str]
    change: Mapping[str, Sequence[str]]
    stay: int
    drift: Sequence[str]
    stay_closed: Mapping[str, str]
    warnings: Sequence[DefinitionWarning]

    @property
    def does_something(self) -> bool:
        return bool(self.create or self.change)


@transaction.atomic
def plan_seed(*, seed: Seed, now: datetime, confirmed: bool) -> Plan:
    """What `seed_workspace` would do. Nothing is changed. Raises InvalidSeed and SeedingDisturbed as it does."""
    before_it = transaction.savepoint()
    seeded = seed_workspace(seed=seed, crowd_size=0, renew_keys=False, now=now, confirmed=confirmed)
    after = _facts(seeded)
    transaction.savepoint_rollback(before_it)
    before = _facts(seeded)
    transaction.set_rollback(True)
    in_file = _names_in_file(seeded)
    changed = {
        name: [field for field in {**before[name], **after[name]} if before[name].get(field) != after[name].get(field)]
        for name in after
        if name in before and before[name] != after[name]
    }
    gone = {name: ["value"] for name in before if name not in after}  # a variable whose value is null
    return Plan(
        create=[name for name in after if name not in before],
        change=changed | gone,
        stay=len([name for name in after if name in before and name in in_file and name not in changed]),
        drift=[name for name in before if name not in in_file and name not in gone],
        stay_closed=seeded.stay_closed,
        warnings=seeded.warnings,
    )


def _names_in_file(seeded: SeededWorkspace) -> set[str]:
    sections: Mapping[str, Mapping[str, Any]] = {
        "workspace": {seeded.workspace.key: ""},
        "apiKeys": seeded.api_keys,
        "apps": seeded.apps,
        "customers": seeded.customers,
        **seeded.defined,
    }
    return {f"{section} {name}" for section, names in sections.items() for name in names}


def _facts(seeded: SeededWorkspace) -> _Facts:
    """All that a file can say, of what is there now, by name and field, in a form that can be compared."""
    workspace = Workspace.objects.filter(key=seeded.workspace.key).first()
    if workspace is None:
        return {}
    facts: dict[str, Mapping[str, Any]] = {f"workspace {workspace.key}": {"name": workspace.name}}
    for section, items in items_of(workspace).items():
        facts |= {f"{section} {item.get('key', item.get('name'))}": item for item in items}
    for key, ids in _members(seeded).items():
        facts[f"segments {key}"] = {**facts.get(f"segments {key}", {}), "members": ids}
    name_of = {id_: name for name, id_ in seeded.customers.items()}
    for customer in Customer.objects.filter(workspace=workspace, id__in=[*name_of]):
        facts[f"customers {name_of[customer.id]}"] = facts_of(customer)
    return {name: {field: _comparable(value) for field, value in of.items()} for name, of in facts.items()}


def _comparable(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _members(seeded: SeededWorkspace) -> Mapping[str, list[str]]:
    """The members of the file's segments."""
    found: dict[str, list[str]] = {}
    members = SegmentMembership.objects.filter(segment__in=[*seeded.segments.values()]).order_by("customer_id")
    for key, customer_id in members.values_list("segment__key", "customer_id"):
        found.setdefault(key, []).append(customer_id)
    return found
