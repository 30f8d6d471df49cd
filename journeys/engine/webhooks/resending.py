"""Sends failed webhooks again on request: one, some, or in the background all that meet what staff ask for.

1. `resend` makes deliveries due at once for one more attempt, with the same id and body; where it goes by a
   connection, as that is now (by_connection.py). No enrollment moves.
2. `ask_to_resend` notes per workspace what is wanted, as of now, and how many that is.
3. `go_on_resending` does a part of one of these: it locks its row, goes through the next deliveries in the order of
   their ends, and notes its place in the same transaction. Whoever comes second passes over the locked row; whoever
   comes after a crash goes on where the last part ended. What fails anew has failed later than what was asked for, so
   every part leads nearer to the end.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from engage.errors import Refusal
from journeys.engine.due import Due
from journeys.engine.webhooks.by_connection import go_over
from journeys.engine.webhooks.failures import Wanted, count_by_workspace, failed, unread
from journeys.models import Resending, WebhookDelivery

_PART = 500
_CONDITIONS = ("journey_id", "host", "status", "since", "before")  # of Wanted, and as they are noted


class DeliveryNotFailed(Refusal):
    """Only a webhook that has failed, and whose enrollment has gone on since, can be sent again."""

    status = 409
    error = "Webhook not failed"


def send_again(*, workspace_id: str, delivery_id: int) -> None:
    """Makes a failed delivery due at once for one more attempt, with the same id and body. No enrollment moves.

    Raises DeliveryNotFailed, also if the workspace has no such delivery. The caller wakes the sender.
    """
    if not resend(WebhookDelivery.objects.filter(workspace_id=workspace_id, id=delivery_id)):
        raise DeliveryNotFailed("Only a webhook that has failed can be sent again, once its journey has gone on.")


@transaction.atomic
def resend(deliveries: QuerySet[WebhookDelivery]) -> Sequence[int]:
    """Makes those of the deliveries due that have failed and whose journey has gone on since; their ids.

    The caller wakes the sender.
    """
    ready = deliveries.filter(~unread(), state=WebhookDelivery.State.FAILED).order_by("pk")
    ids = list(ready.select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
    again = {"state": WebhookDelivery.State.WAITING, "result": "", "again": True, "due_at": Now(), "give_up_at": None}
    WebhookDelivery.objects.filter(pk__in=ids).update(**again)
    go_over(ids)
    return ids


def ask_to_resend(wanted: Wanted, *, asked_by: str, now: datetime) -> list[Resending]:
    """Notes that all that have failed so far are to be sent again: a row for each workspace. The caller wakes."""
    until = replace(wanted, before=min(wanted.before or now, now))
    conditions = {name: getattr(until, name) for name in _CONDITIONS}
    return Resending.objects.bulk_create(
        Resending(workspace_id=workspace_id, asked_by=asked_by, asked_at=now, total=total, **conditions)
        for workspace_id, total in sorted(count_by_workspace(until).items())
    )


def being_resent() -> Sequence[str]:
    """The ids of what was asked for and is not finished, the oldest first."""
    return list(_open().order_by("pk").values_list("pk", flat=True))


@transaction.atomic
def go_on_resending(asked_id: str) -> Due | None:
    """Sends some of what was asked for again, and returns what became due; None if nothing is left for this worker."""
    asked = _open().select_for_update(skip_locked=True, no_key=True).filter(pk=asked_id).first()
    if asked is None:
        return None
    part = _next_part(asked)
    sent = len(resend(WebhookDelivery.objects.filter(pk__in=[pk for _, pk in part])))
    Resending.objects.filter(pk=asked.pk).update(
        looked_at=F("looked_at") + len(part),
        sent=F("sent") + sent,
        **({"place_at": part[-1][0], "place_id": part[-1][1]} if part else {}),
        **({"ended_at": Now()} if len(part) < _PART else {}),
    )
    return Due(webhooks=sent > 0)


def _next_part(asked: Resending) -> Sequence[tuple[datetime, int]]:
    """When the next deliveries ended, and their ids; locked, without those that somebody else holds."""
    rest = failed(Wanted(**{name: getattr(asked, name) for name in ("workspace_id", *_CONDITIONS)}))
    if asked.place_at is not None:
        rest = rest.filter(due_at__gte=asked.place_at).exclude(due_at=asked.place_at, pk__lte=asked.place_id)
    ordered = rest.select_for_update(of=("self",), skip_locked=True, no_key=True).order_by("due_at", "pk")
    return list(ordered.values_list("due_at", "pk")[:_PART])


def _open() -> QuerySet[Resending]:
    return Resending.objects.filter(ended_at__isnull=True)
