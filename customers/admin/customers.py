"""Customers: viewed and erased here, changed through the API."""

from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.decorators import display

from customers.admin.search import by_part, exactly
from customers.erasure import erase_customer
from customers.identifier_rules import SPELLINGS
from customers.identity.lookup import CustomerNotFound
from customers.models import Customer
from engage.admin.parts.filters import TimesFilter
from engage.admin.parts.records import ReadOnlyAdmin
from engage.database.statement_limit import LargeWorkInProgress

_MOST_ALIASES = 50


@admin.register(Customer)
class CustomerAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "email", "external_id", "phone", "user_id", "workspace", "created_at", "id")
    list_display_links = ("__str__",)
    list_filter = (("created_at", TimesFilter),)
    search_help_text = "Name, e-mail, external id, phone, user id or id"
    fieldsets = (
        (None, {"fields": ("name", ("id", "workspace"))}),
        ("Identifiers", {"fields": (("external_id", "email"), ("phone", "user_id"), "claimed_identifiers", "aliases")}),
        (None, {"fields": ("attributes", "claimed_attributes", ("created_at", "updated_at"))}),
    )
    never_deleted = ""
    audited_elsewhere = True
    rank = 0
    delete_confirmation_template = "customers/admin/erase.html"

    def matching(self, text: str, request: HttpRequest) -> Q:
        found = [*exactly(text, request), *by_part(text, request)]
        return Q(pk__in=[customer.pk for customer in found])

    def hits(self, request: HttpRequest, text: str, *, most: int) -> list[Any]:
        """Those with exactly this identifier first."""
        exact = {customer.pk for customer in exactly(text, request)}
        found = super().hits(request, text, most=most)
        first = self.get_queryset(request).filter(pk__in=exact)[:most]
        return [*first, *(one for one in found if one.pk not in exact)][:most]

    @display(description="aliases")
    def aliases(self, customer: Customer) -> str:
        """The identifiers that lead here beside the customer's own."""
        known = customer.aliases.order_by("created_at").values_list(*SPELLINGS)[:_MOST_ALIASES]
        return ", ".join(name for names in known for name in names if name) or "-"

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().delete_view(request, *args, **kwargs)
        except LargeWorkInProgress as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return HttpResponseRedirect(request.path)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with suppress(CustomerNotFound):  # already erased by another request
            erase_customer(workspace_id=obj.workspace_id, customer_id=obj.pk)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        """Names the id alone: a message may stay in a cookie, where nothing erases it."""
        self.message_user(request, f"The customer {obj_id} was erased.", messages.SUCCESS)
        return self.response_post_save_change(request, None)
