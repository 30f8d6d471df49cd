"""The addresses of the admin's pages: those that it routes, for the records that are shown."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from bridge.models import Message
from journeys.admin.steering.buttons import BUTTONS
from journeys.models import Connection, Enrollment, Journey
from tests.browsers.furnished import Shown

# They take a POST, answer scripts, or lead elsewhere; or they need more than an address, and have tests of their own.
NO_PAGES = {
    "admin:autocomplete", "admin:customers_customer_export", "admin:customers_customer_put_in",
    "admin:customers_customer_take_out", "admin:customers_segment_count", "admin:customers_segment_new_count",
    "admin:engage_auditentry_csv", "admin:engage_workspace_see_all", "admin:engage_workspace_see_this_one",
    "admin:journeys_connection_test", "admin:journeys_enrollment_end", "admin:journeys_enrollment_send_again",
    "admin:journeys_inappdelivery_withdraw", "admin:journeys_journey_archive", "admin:journeys_journey_discard",
    "admin:journeys_journey_draft", "admin:journeys_journey_duplicate", "admin:journeys_journey_keep",
    "admin:journeys_journey_new_draft", "admin:journeys_journey_preview", "admin:journeys_journey_restore",
    "admin:journeys_journey_roll_back", "admin:journeys_subscription_resume", "admin:journeys_subscription_test",
    "admin:journeys_webhookdelivery_change", "admin:journeys_webhookdelivery_sending_again",
    "admin:journeys_webhookdelivery_try_now", "admin:jsi18n", "admin:login", "admin:logout", "admin:search",
    "admin:view_on_site", "second_factor",
}  # fmt: skip


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
    models = {f"{model._meta.app_label}_{model._meta.model_name}": model for model in apps.get_models()}
    for name, pattern in _patterns(get_resolver()):
        if name.startswith(("admin:", "second_factor")) and name not in NO_PAGES:
            asks = set(pattern.pattern.converters) | set(pattern.pattern.regex.groupindex)
            model = next((model for prefix, model in models.items() if name.startswith(f"admin:{prefix}_")), None)
            record = (shown.get(model) or model._default_manager.first()) if model else None
            pk = record and record.pk
            for act in BUTTONS if "act" in asks else [""]:
                values = {"object_id": pk, "id": pk, "act": act, "app_label": "journeys"}
                yield name, {key: value for key, value in values.items() if key in asks}


def _patterns(resolver: URLResolver, namespace: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _patterns(entry, f"{entry.namespace}:" if entry.namespace else namespace)
        elif entry.name:
            yield f"{namespace}{entry.name}", entry
