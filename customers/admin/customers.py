"""Customers: looked at here, changed through the API."""

from django.contrib import admin
from django.db.models import Q

from customers.admin.search import customers_known_as
from customers.models import Customer
from engage.admin.filters import AutocompleteSelectFilter
from engage.admin.records import ReadOnlyAdmin


@admin.register(Customer)
class CustomerAdmin(ReadOnlyAdmin):
    list_display = ("id", "workspace", "external_id", "email", "phone", "user_id", "created_at")
    list_filter = (("workspace", AutocompleteSelectFilter),)
    search_help_text = "Customer id, external id, e-mail, phone or user id"
    fieldsets = (
        (None, {"fields": ("id", "workspace")}),
        ("Identifiers", {"fields": (("external_id", "email"), ("phone", "user_id"))}),
        (None, {"fields": ("attributes", ("created_at", "updated_at"))}),
    )

    def matching(self, text: str) -> Q:
        return Q(pk__in=[customer.pk for customer in customers_known_as(text)])
