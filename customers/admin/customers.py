"""Customers: one page with all that is known of a person, to add, edit, export and erase them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from customers.admin.by_hand import MEMBERSHIP, CustomerForm, saved
from customers.admin.search import by_part, exactly
from customers.erasure import erase_customer
from customers.identifier_rules import SPELLINGS
from customers.identity.lookup import CustomerNotFound
from customers.models import Customer
from customers.personal import export_file
from engage.admin.parts.acts import Act, Button, Done, may_look
from engage.admin.parts.audited import in_words
from engage.admin.parts.columns import link, may_view, page_url
from engage.admin.parts.filters import TimesFilter
from engage.admin.parts.records import ReadOnlyAdmin
from engage.admin.parts.timeline import Asked, Source, Told, tell_on
from engage.admin.rights.key_rights import may_give
from engage.database.statement_limit import LargeWorkInProgress
from engage.models import AuditEntry
from engage.scopes import Scope

_MOST_ALIASES = 50


def _edit(model_admin: Any, request: HttpRequest, customer: Customer | None) -> Done | HttpResponse:
    """Adds or changes a customer as a server's call would."""
    form = CustomerForm(request, customer)
    if request.method == "POST" and (kept := saved(form)):
        done = f"{'Changed' if customer else 'Added'} by hand: {told}." if (told := form.told()) else ""
        if done:
            model_admin.note(kept, AuditEntry.Action.CHANGED if customer else AuditEntry.Action.CREATED, done)
        return Done(kept, done or "Nothing was changed.")
    title = "Edit" if customer else "New customer"
    back = page_url(customer) if customer else reverse("admin:customers_customer_changelist")
    shown = {"form": form, "original": customer, "media": model_admin.media, "back": back}
    page: HttpResponse = model_admin.page(request, "customers/admin/edit.html", title=title, **shown)
    return page


def _export(_: Any, __: HttpRequest, customer: Customer) -> FileResponse:
    """All that is stored of the customer, as a file."""
    file = export_file(workspace_id=customer.workspace_id, customer_id=customer.pk, now=timezone.now())
    return FileResponse(file, as_attachment=True, filename=f"customer-{customer.pk}.json")


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
    acts = (
        Act(
            "new",
            _edit,
            of_list=True,
            opens=True,
            may=lambda admin, request: may_look(admin, request) and _may(request, "add"),
            button=Button("New customer", look="first"),
        ),
        Act("edit", _edit, opens=True, may=lambda _, request: _may(request, "change"), button=Button("Edit")),
        Act(
            "export",
            _export,
            may=lambda _, request: may_give(request, Scope.CUSTOMERS_EXPORT),
            noted_as=None,
            button=Button("Export"),
        ),
        Act(
            "delete",
            opens=True,
            may=lambda admin, request: bool(admin.has_delete_permission(request)),
            button=Button("Erase…", look="danger"),
        ),
        *MEMBERSHIP,
    )
    change_form_outer_before_template: Any = "customers/admin/customer_head.html"
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
            receipt = erase_customer(workspace_id=obj.workspace_id, customer_id=obj.pk)
            vars(request)["receipt"] = receipt.receipt_id

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        """Names the id alone: a message may stay in a cookie, where nothing erases it."""
        receipt = vars(request).get("receipt")
        told = format_html(" Its receipt is {}.", _receipt(receipt, request)) if receipt else ""
        self.message_user(request, format_html("The customer {} was erased.{}", obj_id, told), messages.SUCCESS)
        return self.response_post_save_change(request, None)


def _receipt(entry_id: str, request: HttpRequest) -> SafeString | str:
    entry = AuditEntry(pk=entry_id)
    return link(entry, called=entry_id) if may_view(AuditEntry, request=request) else entry_id


def _may(request: HttpRequest, action: str) -> bool:
    return bool(request.user.has_perm(f"customers.{action}_customer"))


def _noted(customer: Customer, asked: Asked) -> Iterator[Told]:
    own = AuditEntry.objects.filter(object_id=customer.pk, object_kind="customer", **asked.span("at"))
    for entry in own.order_by("-at")[: asked.most]:
        yield Told(at=entry.at, kind="changed", what=in_words(entry), more=[entry.actor_name], opens=page_url(entry))


tell_on(Customer, Source(model=AuditEntry, kinds=("changed",), read=_noted))
