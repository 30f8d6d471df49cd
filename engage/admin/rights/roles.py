"""What each role may do in the workspaces whose members have it: the one table of it (docs/access.md tells it)."""

from collections.abc import Iterator, Mapping

from django.apps import apps

from engage.models import Membership

_Actions = Mapping[str, str]

_STRUCTURE: _Actions = {
    "engage.workspace": "view",
    "engage.app": "view",
    "customers.segment": "view",
    "journeys.journey": "view",
    "journeys.journeyrevision": "view",
    "journeys.trigger": "view",
    "journeys.enrollmentjob": "view",
    "journeys.chunk": "view",
    "journeys.enrollment": "view",
    "journeys.steeringact": "view",
    "journeys.steeredhost": "view",
    "journeys.variable": "view",
    "journeys.connection": "view",
    "bridge.message": "view",
}
# Whoever is said to be, said or did something: who may not view customers sees no such value anywhere.
_PEOPLE: _Actions = {
    "customers.customer": "view",
    "customers.event": "view",
    "customers.segmentmembership": "view",
    "journeys.webhookdelivery": "view",
    "journeys.inappdelivery": "view",
    "bridge.interaction": "view",
}
_TRIGGERING: _Actions = {"journeys.trigger": "view add", "journeys.enrollmentjob": "view delete"}
_HELPING: _Actions = {
    "journeys.enrollment": "view change",
    "journeys.webhookdelivery": "view change",
    "journeys.inappdelivery": "view change",
}
_WRITING: _Actions = {
    "journeys.journey": "view add change",
    "journeys.steeredhost": "view add change",
    "customers.segment": "view add change delete",
    "journeys.variable": "view add change delete",
    "bridge.message": "view add change delete",
}
_ALL = "view add change delete"
_APPS = ("engage", "customers", "journeys", "bridge")
_SUPERUSERS_ONLY = {"engage.workspace": "add delete", "engage.membership": _ALL}


def _everything() -> _Actions:
    models = [model for name in _APPS for model in apps.get_app_config(name).get_models()]
    return {model._meta.label_lower: " ".join(model._meta.default_permissions) for model in models}


def rights_of_role(role: str) -> frozenset[str]:
    """The permissions of the role, as "app.action_model"."""
    match role:
        case Membership.Role.VIEWER:
            return frozenset(_named(_STRUCTURE))
        case Membership.Role.SUPPORT:
            return frozenset(_named(_STRUCTURE, _PEOPLE, _TRIGGERING, _HELPING))
        case Membership.Role.AUTHOR:
            return frozenset(_named(_STRUCTURE, _PEOPLE, _TRIGGERING, _WRITING))
        case Membership.Role.ADMIN:
            return frozenset(_named(_everything())) - frozenset(_named(_SUPERUSERS_ONLY))
    return frozenset()  # of a later version


def _named(*tables: _Actions) -> Iterator[str]:
    for table in tables:
        for label, actions in table.items():
            app, _, model = label.partition(".")
            yield from (f"{app}.{action}_{model}" for action in actions.split())
