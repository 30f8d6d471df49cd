"""Hosts are held and released, and have rates: each workspace has its own, as with circuits."""

from django.db import transaction
from django.db.models.functions import Now

from journeys.engine.steering.acts import record_act
from journeys.models import SteeredHost, SteeringAct


def hold_host(*, workspace_id: str, host: str, reason: str, actor: str) -> bool:
    """Holds the workspace's webhooks to the host: none begins half a second later. Returns whether it was not held."""
    with transaction.atomic():
        held, _ = SteeredHost.objects.select_for_update().get_or_create(workspace_id=workspace_id, host=host)
        if held.held_at is not None:
            return False
        SteeredHost.objects.filter(id=held.id).update(held_at=Now(), held_by=actor, held_because=reason)
        record_act(SteeringAct.Kind.HOLD_HOST, held, actor=actor, reason=reason)
    return True


def release_host(*, workspace_id: str, host: str, reason: str, actor: str) -> bool:
    """Webhooks to the host go on. The caller wakes the sender. Returns whether it was held."""
    with transaction.atomic():
        held = SteeredHost.objects.filter(workspace_id=workspace_id, host=host, held_at__isnull=False)
        if not held.update(held_at=None, held_by="", held_because=""):
            return False
        released = SteeredHost(workspace_id=workspace_id, host=host)
        record_act(SteeringAct.Kind.RELEASE_HOST, released, actor=actor, reason=reason)
    return True


def rate_host(*, workspace_id: str, host: str, per_second: float | None, reason: str, actor: str) -> bool:
    """At most so many requests to the host begin in a second; None: as many as there is room for.

    The caller wakes the sender. Returns whether the rate was another one.
    """
    with transaction.atomic():
        rated, _ = SteeredHost.objects.select_for_update().get_or_create(workspace_id=workspace_id, host=host)
        if rated.per_second == per_second:
            return False
        SteeredHost.objects.filter(id=rated.id).update(per_second=per_second, next_at=None)
        record_act(SteeringAct.Kind.RATE_HOST, rated, actor=actor, reason=reason, per_second=per_second)
    return True
