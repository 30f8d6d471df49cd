"""Searching by customer: staff type a name or an e-mail address, or paste an identifier or an id."""

from collections.abc import Callable

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from customers.identifier_rules import comparable_email, one_spelling, stored_phone
from customers.models import Alias, Customer
from engage.admin.parts.columns import may_view
from engage.admin.rights.reach import reach_of, reachable
from engage.database.sql import Statement
from engage.models import Workspace

BY_CUSTOMER = "a customer's name, e-mail, external id, phone, user id or id"
MOST_FOUND = 500  # the same external id may exist in every workspace
_MOST_ELSEWHERE = 50  # of a part, where not customers are looked for, but what is theirs
_SHORTEST_PART = 3  # characters: what is shorter has no trigram of its own


def customers_known_as(text: str, request: HttpRequest) -> list[Customer]:
    """The customers with this id or identifier, with their id and workspace only; where there are none, some of those
    whose name or e-mail address has this part.

    Staff who may not view customers find them by id only: a match would reveal whose an identifier is.
    """
    return exactly(text, request) or by_part(text, request)[:_MOST_ELSEWHERE]


def exactly(text: str, request: HttpRequest) -> list[Customer]:
    """The customers with this id or identifier; one query, one probe per index."""
    return _once(request, f"exactly {text}", lambda: _exactly(text, request))


def by_part(text: str, request: HttpRequest) -> list[Customer]:
    """Customers whose name or e-mail address has this part, in any case, or begins so."""
    return _once(request, f"by part {text}", lambda: _by_part(text, request))


def of_customers_known_as(text: str, request: HttpRequest) -> Q:
    """The filter for those customers' records, in tables whose index leads with the workspace."""
    customers = customers_known_as(text, request)
    return Q(
        workspace__in={customer.workspace_id for customer in customers},
        customer__in=[customer.pk for customer in customers],
    )


def _exactly(text: str, request: HttpRequest) -> list[Customer]:
    merged = Alias.objects.filter(id=text).values("customer_id")
    by_id = Customer.objects.filter(Q(pk=text) | Q(pk__in=merged)).only("pk", "workspace_id")
    if not may_view(Customer, request=request):
        return list(by_id)
    # The workspace leads the indexes of the identifiers; naming those that are seen lets each be probed.
    seen = reachable(Workspace.objects.order_by(), request=request)
    phones = _spellings(text, seen)
    everywhere = Customer.objects.filter(workspace__in=seen.values("pk"))
    ways = (
        Q(external_id=one_spelling(text)),
        Q(email=comparable_email(text)),
        Q(phone__in=phones),
        Q(user_id=one_spelling(text)),
        Q(aliases__user_id=one_spelling(text)),
        Q(aliases__external_id=one_spelling(text)),
        Q(aliases__email=comparable_email(text)),
        Q(aliases__phone__in=phones),
    )
    found = by_id.union(*(everywhere.filter(way).only("pk", "workspace_id") for way in ways))
    return list(found[:MOST_FOUND])


def _spellings(text: str, seen: QuerySet[Workspace]) -> set[str]:
    """How the workspaces store the text, if it is a phone number."""
    countries = seen.exclude(default_country="").values_list("default_country", flat=True).distinct()
    return {stored_phone(text, country) for country in ("", *(countries if any(map(str.isdigit, text)) else ()))}


_HAS_PARTS = Statement("SELECT to_regclass('customer_by_part') IS NOT NULL")
_BY_PART = Statement("""
SELECT id, workspace_id FROM customers_customer
WHERE (lower(name) LIKE {pattern} OR lower(email) LIKE {pattern})
  AND ({workspaces}::text[] IS NULL OR workspace_id = ANY({workspaces}::text[]))
LIMIT {most}
""")


def _by_part(text: str, request: HttpRequest) -> list[Customer]:
    part = one_spelling(text).lower()
    if not (part and may_view(Customer, request=request)):
        return []
    (has_parts,) = _HAS_PARTS.column()
    begins = "%" if has_parts and len(part) >= _SHORTEST_PART else ""
    escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    reached = reach_of(request.user).workspaces
    own = None if reached is None else list(reached)
    found = _BY_PART.fetch(Customer, pattern=f"{begins}{escaped}%", workspaces=own, most=MOST_FOUND)
    return sorted(found, key=lambda customer: customer.pk, reverse=True)


def _once(request: HttpRequest, what: str, found: Callable[[], list[Customer]]) -> list[Customer]:
    """The box that finds any record asks for each kind of record."""
    known: dict[str, list[Customer]] = vars(request).setdefault("customers_found", {})
    if what not in known:
        known[what] = found()
    return known[what]
