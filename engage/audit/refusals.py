"""What was refused, for want of a right or of the password; only so many an hour, or it would fill the disk."""

from contextlib import suppress
from datetime import timedelta

from django.db import DatabaseError
from django.http import HttpRequest
from django.utils import timezone

from engage.audit.acting import Actor, current_actor
from engage.audit.recording import Change, record
from engage.errors import Refusal
from engage.models import AuditEntry

_WINDOW = timedelta(hours=1)
OF_ONE = 30  # by one actor from one address
OF_ACTOR = 300  # by one actor of whom it is known who it is, from whichever addresses
OF_WORKSPACE = 1_000  # of what belongs to none, likewise
OF_ONE_CAUSE = 100  # failed logins at one account for one reason; at no account, as at one


def record_refused_call(request: HttpRequest, refusal: Refusal) -> None:
    """That the key that acts may not make this call."""
    route = request.resolver_match.route if request.resolver_match else ""
    record_refusal(
        Change(
            action=AuditEntry.Action.REFUSED,
            workspace_id=current_actor().workspace_id,
            kind="call",
            named=f"{request.method} {route}",
            note=refusal.message,
        )
    )


def record_failed_login(account_id: int | None, name: str, *, note: str = "") -> None:
    """That nobody was let in: at this account, or None where there is none of the name, if that may be told."""
    record_refusal(
        Change(
            action=AuditEntry.Action.LOGIN_FAILED,
            workspace_id=None,
            kind="user",
            id=str(account_id or ""),
            named=name,
            note=note,
        )
    )


def record_refusal(change: Change, *, by: Actor | None = None) -> None:
    """Writes the entry, unless many were written within the hour. The log has all of them.

    Nobody's entries take the place of another tenant's, and one actor's not that of a whole tenant.
    """
    actor = by or current_actor()
    with suppress(DatabaseError):  # who is refused is told so also while the database is away
        lately = AuditEntry.objects.filter(
            action=change.action, at__gt=timezone.now() - _WINDOW, workspace=change.workspace_id
        )
        own = lately.filter(actor_kind=actor.kind, actor_id=actor.id)
        counted = [(own.filter(address=actor.address), OF_ONE)]
        if actor.id:
            counted.append((own, OF_ACTOR))
        if change.action == AuditEntry.Action.LOGIN_FAILED:  # strangers make as many as they like, and hide no others
            cause = lately.filter(object_id=change.id, object_kind=change.kind, note=change.note)
            counted.append((cause, OF_ONE_CAUSE))
        else:
            counted.append((lately, OF_WORKSPACE))
        if all(entries[:most].count() < most for entries, most in counted):
            record(change, by=actor)
