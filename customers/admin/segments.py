"""Segments: created and edited here; members are put in and taken out through the API."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from unfold.decorators import display

from customers.admin.condition_help import CONDITION_HELP
from customers.admin.search import BY_CUSTOMER, of_customers_known_as
from customers.admin.suggestions import attributes_known_in
from customers.audience.segments import (
    ErrorResolvingSegments,
    check_segment_conditions,
    count_belonging,
    first_belonging,
    segment_warnings,
)
from customers.conditions import InvalidCondition, Root
from customers.models import Customer, Segment, SegmentMembership
from engage.admin.parts.acts import Act, May, may_add, may_change
from engage.admin.parts.columns import count_up_to, link, may_view
from engage.admin.parts.filters import ExactFilter, SelectFilter
from engage.admin.parts.json_field import JsonField
from engage.admin.parts.managed import SAVE_OVER, ManagedForm, asks
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import ReadOnlyAdmin, RecordAdmin
from engage.admin.rights.reach import reachable
from engage.json.compact import same_json
from engage.json.described import told
from engage.models import Workspace

COUNTING_SECONDS = 2.0
LISTED = 50
COUNTED_BEFORE_DELETION = 10_000
_NEW_COUNT = reverse_lazy("admin:customers_segment_new_count")


class SegmentForm(ManagedForm):
    """Reports invalid conditions with the place in them."""

    conditions = JsonField(
        named="conditions",
        required=False,
        form=told("Conditions", "condition", roots=[Root.CUSTOMER]),
        example='{"field": "customer.plan", "op": "eq", "value": "pro"}',
        help_text="Who also belongs to it; none: only customers put into it.",
    )

    def clean_conditions(self) -> Any:
        conditions = self.cleaned_data["conditions"]
        try:
            check_segment_conditions(conditions, stored="conditions" not in self.changed_data)
        except InvalidCondition as refusal:
            raise ValidationError(refusal.message) from None
        return conditions


def _count(_: Any, request: HttpRequest, segment: Segment | None) -> Any:
    """Tells how many would belong to it with the conditions that are sent, or what is wrong with them."""
    segment = segment or Segment(workspace=_workspace(request))
    try:
        written = JsonField(named="conditions", required=False).clean(request.POST.get("conditions", ""))
        check_segment_conditions(written, stored=same_json(written, segment.conditions))
    except ValidationError as invalid:
        mistakes = [("conditions", f"{message}") for message in invalid.messages]
    except InvalidCondition as refusal:
        mistakes = [(one.place, one.remark) for one in refusal.all_found()]
    else:
        segment.conditions = written
        return JsonResponse({"told": _counted(segment)})
    return JsonResponse({"mistakes": [{"place": place, "message": message} for place, message in mistakes]})


def _may_count(may: May) -> May:
    return lambda admin, request: may(admin, request) and may_view(Customer, request=request)


@admin.register(Segment)
class SegmentAdmin(RecordAdmin):
    acts = (
        Act("new_count", _count, route="count", of_list=True, may=_may_count(may_add), noted_as=None),
        Act("count", _count, may=_may_count(may_change), noted_as=None),
    )
    form = SegmentForm
    list_display = ("name", "key", "workspace", "id", "updated_at")
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    autocomplete_fields = ("workspace",)
    fields = (
        "workspace",
        ("name", "key"),
        "conditions",
        "size",
        "managed_by",
        SAVE_OVER,
        "id",
        ("created_at", "updated_at"),
    )
    written_once = ("workspace",)
    change_form_before_template: Any = "customers/admin/segment_help.html"
    change_form_outer_after_template: Any = "customers/admin/belonging.html"
    delete_confirmation_template = "customers/admin/delete_segment.html"

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        for warning in segment_warnings(context["original"]) if context["original"] else ():
            self.message_user(request, f"{warning.place}: {warning.remark}", messages.WARNING)
        given = self._given(context["original"], request)
        shown = {**context, "condition_help": CONDITION_HELP, "given": given}
        return super().render_change_form(request, shown, *args, **kwargs)

    def _has_input(self, name: str, obj: Any, request: HttpRequest) -> bool:
        return asks(name, obj) and super()._has_input(name, obj, request)

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        return None if name == SAVE_OVER else super().shown_as(name, request)

    @display(description="who belongs to it")
    def size(self, segment: Segment) -> str:
        try:
            return _counted(segment)
        except ErrorResolvingSegments as refusal:
            return refusal.message

    def _given(self, segment: Segment | None, request: HttpRequest) -> dict[str, Any]:
        """What the page's own script needs: names to offer, and where it asks how many there would be."""
        sees_customers = may_view(Customer, request=request)
        url = reverse("admin:customers_segment_count", args=[quote(segment.pk)]) if segment else _NEW_COUNT
        attributes = attributes_known_in(segment.workspace_id) if segment and sees_customers else []
        return {"suggestions": {"attributes": attributes}, "url": str(url) if sees_customers else ""}

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        """The latest who belong to it, for those who may see customers."""
        if not may_view(Customer, request=request):
            return {}
        try:
            ids = first_belonging(record, most=LISTED, seconds=COUNTING_SECONDS)
        except ErrorResolvingSegments:
            return {}
        known = Customer.objects.in_bulk(ids or ())
        rows = [[link(one), one.email or "-", one.external_id or "-"] for pk in ids or () if (one := known.get(pk))]
        listed = {"headers": ["Customer", "E-mail", "External id"], "rows": rows}
        return {"belonging": listed, "cannot_list": ids is None, "is_full": len(rows) == LISTED}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        obj.updated_at = timezone.now()
        super().save_model(request, obj, form, change)

    def render_delete_form(self, request: HttpRequest, context: dict[str, Any]) -> Any:
        put_in = SegmentMembership.objects.filter(segment=context["object"])
        context["members"] = count_up_to(put_in, most=COUNTED_BEFORE_DELETION)
        return super().render_delete_form(request, context)


def _counted(segment: Segment) -> str:
    """How many belong to it now, as words. Raises ErrorResolvingSegments."""
    number, is_all = count_belonging(segment, seconds=COUNTING_SECONDS)
    return f"{number:,}, counted just now" if is_all else f"at least {number:,}"


def _workspace(request: HttpRequest) -> Workspace:
    """The one that is sent, if this member of staff sees it. Raises Http404."""
    return get_object_or_404(reachable(Workspace.objects.all(), request=request), pk=request.POST.get("workspace", ""))


@admin.register(SegmentMembership)
class SegmentMembershipAdmin(ReadOnlyAdmin):
    list_display = ("customer", "segment", "added_at", "id")
    list_display_links = ("added_at", "id")
    list_filter = (("segment", SelectFilter), ("customer", ExactFilter))
    filters_by_workspace = False
    fields = ("workspace", "segment", "customer", "added_at")
    titled_by = ("customer", "segment")
    search_help_text = BY_CUSTOMER.capitalize()

    def matching(self, text: str, request: HttpRequest) -> Q:
        return of_customers_known_as(text, request)


show_on(Workspace, Panel(model=Segment, by="workspace", columns=("__str__", "key", "updated_at")))
show_on(
    Segment,
    Panel(
        model=SegmentMembership,
        by="segment",
        columns=("customer", "added_at"),
        order=("-customer_id",),
        title="customers put into it",
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
