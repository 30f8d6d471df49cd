"""Searching by customer: staff paste an id, an external id, an e-mail address, a phone number or a user id."""

from django.db.models import Q
from django.http import HttpRequest

from customers.identifier_rules import comparable_email, one_spelling
from customers.identity import stored_phone
from customers.models import Alias, Customer
from engage.admin.columns import may_view
from engage.models import Workspace

BY_CUSTOMER = "a customer's id, external id, e-mail, phone or user id"
_MOST_FOUND = 500  # the same external id may exist in every workspace


def customers_known_as(text: str, request: HttpRequest) -> list[Customer]:
    """The customers with this id or identifier, with their id and workspace only; one query, one probe per index.

    Staff who may not view customers find them by id only: a match would reveal whose an identifier is.
    """
    merged = Alias.objects.filter(id=text).values("customer_id")
    by_id = Customer.objects.filter(Q(pk=text) | Q(pk__in=merged)).only("pk", "workspace_id")
    if not may_view(Customer, request=request):
        return list(by_id)
    # The workspace leads the indexes of the identifiers; naming all of them lets each be probed.
    everywhere = Customer.objects.filter(workspace__in=Workspace.objects.order_by().values("pk"))
    ways = (
        Q(external_id=one_spelling(text)),
        Q(email=comparable_email(text)),
        Q(phone=stored_phone(text)),
        Q(user_id=one_spelling(text)),
        Q(aliases__user_id=one_spelling(text)),
    )
    found = by_id.union(*(everywhere.filter(way).only("pk", "workspace_id") for way in ways))
    return list(found[:_MOST_FOUND])


def of_customers_known_as(text: str, request: HttpRequest) -> Q:
    """The filter for those customers' records, in tables whose index leads with the workspace."""
    customers = customers_known_as(text, request)
    return Q(
        workspace__in={customer.workspace_id for customer in customers},
        customer__in=[customer.pk for customer in customers],
    )
