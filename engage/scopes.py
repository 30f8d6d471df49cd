"""What an API key may be for: scopes. Each call says which of them it needs (engage/calls/).

A key without scopes of its own has all of them, and those that are added later as well.
"""

from collections.abc import Collection, Mapping

from django.db import models

from engage.errors import Refusal


class Scope(models.TextChoices):
    TRIGGER = "trigger", "trigger journeys, ask what became of it, and take it back"
    EVENTS = "events", "report events"
    CUSTOMERS_READ = "customers:read", "read customers and their attributes"
    CUSTOMERS_WRITE = "customers:write", "read, create and change customers"
    CUSTOMERS_MERGE = "customers:merge", "merge two known customers, with customers:write"
    CUSTOMERS_ERASE = "customers:erase", "erase customers"
    CUSTOMERS_EXPORT = "customers:export", "export all that is stored of a customer"
    SEGMENTS = "segments", "change who is in a segment"
    ENROLLMENTS = "enrollments", "read where customers are in journeys, and end that"
    STATS = "stats", "read how journeys do, and their steps"
    FEED = "feed", "read what happens in journeys"
    MESSAGES = "messages", "read and change what in-app messages may write"
    AUDIT = "audit", "read who changed what"
    DEFINITIONS = "definitions", "steer journeys, and change journeys, segments, variables and subscriptions themselves"
    CONNECTIONS = "connections", "change connections to providers"
    CONTACT = "contact", "say whom nothing is sent: topics, the contact policy, and addresses"


# By answers, or by what definitions send elsewhere, keys with these learn who somebody is, and what became of them.
TELL_OF_PEOPLE = (
    Scope.CUSTOMERS_READ,
    Scope.CUSTOMERS_WRITE,
    Scope.CUSTOMERS_EXPORT,
    Scope.ENROLLMENTS,
    Scope.FEED,
    Scope.DEFINITIONS,
)
TELL_OF_THE_WAY = (Scope.CUSTOMERS_EXPORT, Scope.ENROLLMENTS, Scope.FEED, Scope.DEFINITIONS)
# A call with a body that changes a customer answers with the whole customer.
_INCLUDED: Mapping[str, Collection[Scope]] = {Scope.CUSTOMERS_WRITE: {Scope.CUSTOMERS_READ}}


class ScopeMissing(Refusal):
    """The API key lacks the scope that the call needs."""

    status = 403
    error = "Scope missing"

    def __init__(self, scope: Scope) -> None:
        needed = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope.value}"'}  # RFC 6750
        super().__init__(f"This API key lacks the scope {scope.value}, which this call needs.", headers=needed)


def require_scope(scopes: Collection[str] | None, needed: Scope | None) -> None:
    """Raises ScopeMissing unless the scopes of a key (None: all) include the needed one."""
    if scopes is None or needed is None or needed in scopes:
        return
    if not any(needed in _INCLUDED.get(scope, ()) for scope in scopes):
        raise ScopeMissing(needed)
