"""What an API key gives in its workspace, as permissions: whoever makes one must have them all."""

from collections.abc import Sequence

from django.contrib.auth.models import Permission
from django.http import HttpRequest

# By name, because the apps that have these models import this one.
KEY_RIGHTS = (
    "customers.view_customer",
    "customers.add_customer",
    "customers.change_customer",
    "customers.delete_customer",
    "customers.change_segment",
    "customers.add_event",
    "journeys.add_trigger",
    "journeys.view_trigger",
    "journeys.view_enrollmentjob",
    "journeys.delete_enrollmentjob",
    "journeys.view_enrollment",
    "journeys.change_enrollment",
    "journeys.view_webhookdelivery",
    "bridge.view_message",
    "bridge.add_message",
    "bridge.change_message",
    "bridge.delete_message",
)


def has_key_rights(request: HttpRequest) -> bool:
    """Whether this member of staff may do themselves all that a key may do."""
    return bool(request.user.has_perms(KEY_RIGHTS))


def why_no_key(request: HttpRequest) -> str:
    """Which permissions this member of staff lacks to make a key."""
    missing = ", ".join(_names([right for right in KEY_RIGHTS if not request.user.has_perm(right)]))
    return f"A key reaches no further than whoever makes it. To make one, your account also needs: {missing}."


def _names(rights: Sequence[str]) -> list[str]:
    """The permissions as the pages of accounts and groups name them, without their "Can"."""
    named = {
        f"{app}.{codename}": name.removeprefix("Can ")
        for app, codename, name in Permission.objects.values_list("content_type__app_label", "codename", "name")
    }
    return [named.get(right, right) for right in rights]
