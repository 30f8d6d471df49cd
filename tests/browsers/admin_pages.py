"""The addresses of the admin's pages: those that it routes, for the records that are shown."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from bridge.models import Message
from engage.admin.parts.acts import Act, ActingAdmin
from journeys.journey.acts.steering import STEERING
from journeys.models import Connection, Enrollment, Journey
from tests.browsers.furnished import Shown

# They answer scripts, or lead elsewhere; or they need more than an address, and have tests of their own.
NO_PAGES = {
    "admin:autocomplete", "admin:engage_auditentry_csv", "admin:journeys_webhookdelivery_change",
    "admin:journeys_webhookdelivery_sending_again", "admin:jsi18n", "admin:login", "admin:logout", "admin:search",
    "admin:view_on_site", "second_factor",
}  # fmt: skip


def acts() -> list[tuple[ActingAdmin, Act]]:
    """Of all admins."""
    admin.autodiscover()
    admins = [one for one in admin.site._registry.values() if isinstance(one, ActingAdmin)]
    return [(one, act) for one in admins for act in one.acts]


def pages(shown: Shown) -> dict[str, str]:
    """The addresses by their names."""
    found = {_name(name, kwargs): reverse(name, kwargs=kwargs) for name, kwargs in _routed(shown)}
    held, archived, renewal = (Journey.objects.get(key=key) for key in ("held", "old", "renewal"))
    waiting = Enrollment.objects.get(journey=renewal)
    incomplete = Connection.objects.get(key="postmark")
    return found | {
        "journey held": reverse("admin:journeys_journey_change", args=[held.pk]),
        "journey archived": reverse("admin:journeys_journey_change", args=[archived.pk]),
        "journey by connections": reverse("admin:journeys_journey_change", args=[renewal.pk]),
        "enrollment that waits until": reverse("admin:journeys_enrollment_change", args=[waiting.pk]),
        "connection incomplete": reverse("admin:journeys_connection_change", args=[incomplete.pk]),
        "connection from a preset": f"{reverse('admin:journeys_connection_add')}?preset=postmark",
        "steer resume": reverse("admin:journeys_journey_steer", args=[held.pk, "resume"]),
        "nothing found": f"{reverse('admin:customers_customer_changelist')}?q=nowhere@example.com",
        "failures being tried": f"{reverse('admin:journeys_webhookdelivery_changelist')}?what=trying",
        "message learned": f"{reverse('admin:bridge_message_change', args=[shown[Message].pk])}?learn=1",
    }


def _name(name: str, kwargs: dict[str, Any]) -> str:
    return " ".join((name.removeprefix("admin:").replace("_", " "), kwargs.get("act", ""))).strip()


def _routed(shown: Shown) -> Iterator[tuple[str, dict[str, Any]]]:
    no_pages = NO_PAGES | {f"admin:{one.named(act.name)}" for one, act in acts() if act.is_posted}
    models = {f"{model._meta.app_label}_{model._meta.model_name}": model for model in apps.get_models()}
    for name, pattern in _patterns(get_resolver()):
        if name.startswith(("admin:", "second_factor")) and name not in no_pages:
            asks = set(pattern.pattern.converters) | set(pattern.pattern.regex.groupindex)
            model = next((model for prefix, model in models.items() if name.startswith(f"admin:{prefix}_")), None)
            record = (shown.get(model) or model._default_manager.first()) if model else None
            pk = record and record.pk
            for act in STEERING if "act" in asks else [""]:
                values = {"object_id": pk, "id": pk, "act": act, "app_label": "journeys"}
                yield name, {key: value for key, value in values.items() if key in asks}


def _patterns(resolver: URLResolver, namespace: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _patterns(entry, f"{entry.namespace}:" if entry.namespace else namespace)
        elif entry.name:
            yield f"{namespace}{entry.name}", entry
