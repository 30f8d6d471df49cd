"""Segments: made and edited here; who was put into one is changed through the API."""

from django.contrib import admin
from django.db.models import Q

from customers.admin.search import of_customers_known_as
from customers.models import Customer, Segment, SegmentMembership
from engage.admin.filters import AutocompleteSelectFilter, ExactFilter, SelectFilter
from engage.admin.panels import Panel, show_on
from engage.admin.records import ReadOnlyAdmin, RecordAdmin


@admin.register(Segment)
class SegmentAdmin(RecordAdmin):
    list_display = ("name", "key", "workspace", "id", "updated_at")
    list_filter = (("workspace", AutocompleteSelectFilter),)
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    autocomplete_fields = ("workspace",)
    fields = ("workspace", ("name", "key"), "conditions", "id", ("created_at", "updated_at"))
    written_once = ("workspace",)


@admin.register(SegmentMembership)
class SegmentMembershipAdmin(ReadOnlyAdmin):
    list_display = ("id", "segment", "customer", "added_at")
    list_filter = (("segment", SelectFilter), ("customer", ExactFilter))
    fields = ("workspace", "segment", "customer", "added_at")
    search_help_text = "A customer's id, external id, e-mail, phone or user id"

    def matching(self, text: str) -> Q:
        return of_customers_known_as(text)


show_on(
    Segment,
    Panel(
        model=SegmentMembership,
        by="segment",
        columns=("customer", "added_at"),
        order=("-customer_id",),
        title="customers put into it",
        rows=50,
    ),
)
show_on(
    Customer,
    Panel(
        model=SegmentMembership,
        by="customer",
        columns=("segment", "added_at"),
        order=("-segment_id",),
        title="segments they were put into",
    ),
)
