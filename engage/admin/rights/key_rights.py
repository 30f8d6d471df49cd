"""What an API key gives in its workspace, as permissions: whoever gives a key a scope must have them all."""

from collections.abc import Collection, Sequence

from django.contrib.auth.models import Permission
from django.http import HttpRequest

from engage.database.table import right_to, tables
from engage.scopes import Scope


def rights_of(scopes: Collection[str] | None) -> list[str]:
    """The permissions that a key with these scopes gives, as the tables say; None: with all.

    A scope takes the rights to all that it reads, and to all that what it makes reads in its place: a journey, a
    connection or a message is filled in from what is known of people and sent elsewhere, a subscription has the feed.
    """
    given = [scope for scope in Scope if scopes is None or scope in scopes]
    rights = (
        right_to(action, model)
        for scope in given
        for model, table in tables()
        for action in table.keys.get(scope, "").split()
    )
    return list(dict.fromkeys(rights))


KEY_RIGHTS = tuple(rights_of(None))


def may_give(request: HttpRequest, scope: Scope) -> bool:
    """Whether this member of staff may do themselves all that a key with the scope may do."""
    return bool(request.user.has_perms(rights_of([scope])))


def may_give_some(request: HttpRequest) -> bool:
    """Whether there is a scope that this member of staff may give to a key."""
    return any(may_give(request, scope) for scope in Scope)


def why_no_key(request: HttpRequest, scopes: Collection[str] | None) -> str | None:
    """Which permissions this member of staff lacks to give a key these scopes (None: all); None if they may."""
    missing = _names([right for right in rights_of(scopes) if not request.user.has_perm(right)])
    if not missing:
        return None
    return (
        f"A key reaches no further than whoever makes it. To give it this, your account also needs: "
        f"{', '.join(missing)}."
    )


def _names(rights: Sequence[str]) -> list[str]:
    """The permissions as the pages of accounts and groups name them, without their "Can"."""
    if not rights:
        return []
    named = {
        f"{app}.{codename}": name.removeprefix("Can ")
        for app, codename, name in Permission.objects.values_list("content_type__app_label", "codename", "name")
    }
    return [named.get(right, right) for right in rights]
