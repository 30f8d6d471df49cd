"""Switching an app to refuse calls whose person is not proven."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from engage.errors import InvalidRequest
from engage.models import App, IdentityKey


def enforce_identity(*, app_id: str, now: datetime) -> None:
    """From now on (after CREDENTIALS_KEPT_SECONDS at the latest), such calls are refused.

    Raises InvalidRequest if it does already, and if no key of the app is valid: nobody could prove anything.
    """
    with transaction.atomic():
        app = App.objects.select_for_update(no_key=True).get(pk=app_id)
        if app.identity == App.Identity.ENFORCE:
            raise InvalidRequest("The app enforces already: nothing has changed.")
        if not valid_keys(app, now=now).exists():
            raise InvalidRequest("The app has no identity key that is valid now: nobody could prove who they are.")
        App.objects.filter(pk=app.pk).update(identity=App.Identity.ENFORCE)


def valid_keys(app: App, *, now: datetime) -> QuerySet[IdentityKey]:
    """Those of the app's keys that count now."""
    return IdentityKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), app=app)
