"""What an API key gives in its workspace, as permissions: whoever gives a key a scope must have them all."""

from collections.abc import Collection, Mapping, Sequence

from django.contrib.auth.models import Permission
from django.http import HttpRequest

from engage.scopes import Scope


def _all_of(app: str, model: str) -> tuple[str, ...]:
    return tuple(f"{app}.{action}_{model}" for action in ("view", "add", "change", "delete"))


# By name, because the apps that have these models import this one.
_SEE_PEOPLE = ("customers.view_customer", "customers.view_event", "customers.view_segmentmembership")
_SEE_WAYS = ("journeys.view_trigger", "journeys.view_enrollmentjob", "journeys.view_enrollment")
_SEE_SENT = ("journeys.view_webhookdelivery", "journeys.view_inappdelivery")
# The feed tells of all of these, and whom it happened to.
_SEE_FEED = (*_SEE_PEOPLE, *_SEE_WAYS, *_SEE_SENT, "journeys.view_journey", "bridge.view_message")

# A scope takes the rights to all that it reads, and to all that what it makes reads in its place: a journey, a
# connection or a message is filled in from what is known of people and sent elsewhere, a subscription has the feed.
_RIGHTS_OF_SCOPE: Mapping[Scope, Sequence[str]] = {
    # Jobs tell who was in a segment.
    Scope.TRIGGER: (
        "journeys.add_trigger",
        "journeys.delete_enrollmentjob",
        "journeys.view_trigger",
        "journeys.view_enrollmentjob",
        "customers.view_customer",
    ),
    Scope.EVENTS: ("customers.add_event", "customers.add_customer"),
    Scope.CUSTOMERS_READ: _SEE_PEOPLE,
    Scope.CUSTOMERS_WRITE: ("customers.add_customer", "customers.change_customer", *_SEE_PEOPLE),
    Scope.CUSTOMERS_MERGE: ("customers.change_customer", "customers.delete_customer"),
    # An export has whatever any page of a person shows.
    Scope.CUSTOMERS_EXPORT: (*_SEE_PEOPLE, *_SEE_WAYS, *_SEE_SENT, "bridge.view_interaction"),
    Scope.CUSTOMERS_ERASE: ("customers.delete_customer",),
    Scope.SEGMENTS: ("customers.change_segment",),
    Scope.ENROLLMENTS: ("journeys.change_enrollment", *_SEE_PEOPLE, *_SEE_WAYS, *_SEE_SENT),
    Scope.STATS: ("journeys.view_journey",),
    Scope.FEED: _SEE_FEED,
    Scope.MESSAGES: (*_all_of("bridge", "message"), "customers.view_customer"),
    Scope.AUDIT: ("engage.view_auditentry",),
    Scope.DEFINITIONS: (
        "journeys.add_journey",
        "journeys.change_journey",
        *_all_of("customers", "segment"),
        *_all_of("journeys", "variable"),
        *_all_of("journeys", "subscription"),
        *_SEE_FEED,
    ),
    Scope.CONNECTIONS: (*_all_of("journeys", "connection"), "customers.view_customer"),
}


def rights_of(scopes: Collection[str] | None) -> list[str]:
    """The permissions that a key with these scopes gives; None: with all."""
    given = (_RIGHTS_OF_SCOPE[scope] for scope in Scope if scopes is None or scope in scopes)
    return list(dict.fromkeys(right for rights in given for right in rights))


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
