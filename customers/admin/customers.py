"""Customers: viewed and erased here, changed through the API."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from unfold.decorators import display

from customers.admin.search import customers_known_as
from customers.erasure import erase_customer
from customers.lookup import CustomerNotFound
from customers.models import Customer
from engage.admin.filters import AutocompleteSelectFilter
from engage.admin.records import ReadOnlyAdmin

_MOST_ALIASES = 50


@admin.register(Customer)
class CustomerAdmin(ReadOnlyAdmin):
    list_display = ("id", "workspace", "external_id", "email", "phone", "user_id", "created_at")
    list_filter = (("workspace", AutocompleteSelectFilter),)
    search_help_text = "Customer id, external id, e-mail, phone or user id"
    fieldsets = (
        (None, {"fields": ("id", "workspace")}),
        ("Identifiers", {"fields": (("external_id", "email"), ("phone", "user_id"), "claimed_identifiers", "aliases")}),
        (None, {"fields": ("attributes", "claimed_attributes", ("created_at", "updated_at"))}),
    )
    never_deleted = ""
    delete_confirmation_template = "customers/admin/erase.html"

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(pk__in=[customer.pk for customer in customers_known_as(text, request)])

    @display(description="aliases")
    def aliases(self, customer: Customer) -> str:
        """The user ids that lead here beside the customer's own."""
        known = customer.aliases.order_by("created_at").values_list("user_id", flat=True)
        return ", ".join(known[:_MOST_ALIASES]) or "-"

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with suppress(CustomerNotFound):  # already erased by another request
            erase_customer(workspace_id=obj.workspace_id, customer_id=obj.pk)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        """Names the id alone: a message may stay in a cookie, where nothing erases it."""
        self.message_user(request, f"The customer {obj_id} was erased.", messages.SUCCESS)
        return self.response_post_save_change(request, None)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Customer]) -> None:  # type: ignore[override]
        """Logs who erased which id. Django would also keep the customer's identifier, which nothing erases."""
        kind = ContentType.objects.get_for_model(Customer)
        LogEntry.objects.bulk_create(
            LogEntry(
                user=cast("User", request.user),
                content_type=kind,
                object_id=customer.pk,
                object_repr=customer.pk,
                action_flag=DELETION,
            )
            for customer in queryset
        )
