"""Customers by hand: adding and editing one, as a server's call would, and putting them into segments."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from customers.audience.membership import put_in, take_out
from customers.identifier_rules import LONGEST, SPELLINGS
from customers.identity.identifiers import identifiers
from customers.identity.roster import CustomerData, IdentifierConflict
from customers.identity.upsert import upsert_customer
from customers.models import Customer, Segment, SegmentMembership
from engage.admin.parts.acts import Act, Button, Done, Input, permitted
from engage.admin.parts.json_field import JsonField
from engage.admin.rights.reach import reachable
from engage.errors import InvalidRequest, Refusal
from engage.json.compact import same_json
from engage.models import Workspace

_LABELS = {"external_id": "External id", "email": "E-mail", "phone": "Phone", "user_id": "User id"}
_MOST_SEGMENTS = 500


class CustomerForm(forms.Form):
    """What a call would say of a customer. An emptied identifier is taken away; attributes are those that stay."""

    def __init__(self, request: HttpRequest, customer: Customer | None) -> None:
        known = {"attributes": customer.attributes or None} if customer else {}
        known |= {name: getattr(customer, name) for name in SPELLINGS} if customer else {}
        super().__init__(request.POST or None, initial=known)
        self.customer = customer
        if customer is None:
            own = reachable(Workspace.objects.order_by("name"), request=request)
            self.fields["workspace"] = forms.ModelChoiceField(own, widget=UnfoldAdminSelectWidget, empty_label=None)
        for name in SPELLINGS:
            self.fields[name] = forms.CharField(
                label=_LABELS[name], required=False, max_length=LONGEST[name], widget=UnfoldAdminTextInputWidget
            )
        self.fields["attributes"] = JsonField(
            named="attributes", required=False, help_text='An object such as {"name": "Ada", "plan": "pro"}.'
        )

    def clean_attributes(self) -> dict[str, Any]:
        written = self.cleaned_data["attributes"]
        if written is not None and not isinstance(written, dict):
            raise ValidationError("This must be an object.")
        return written or {}

    def save(self) -> Customer:
        """Raises Refusal, having changed nothing: also if a new customer is there already."""
        stored = self.customer.attributes if self.customer else {}
        written = self.cleaned_data["attributes"]
        workspace = self.customer.workspace if self.customer else self.cleaned_data["workspace"]
        known_by = identifiers(**{name: self.cleaned_data[name] or None for name in SPELLINGS})
        data = CustomerData(
            customer_id=self.customer.pk if self.customer else None,
            known_by=known_by.in_country(workspace.default_country),
            attributes=_changed(stored, written),
            removed=[name for name in SPELLINGS if self.initial.get(name) and not self.cleaned_data[name]],
        )
        with transaction.atomic():
            upserted = upsert_customer(workspace_id=workspace.pk, data=data, now=timezone.now())
            if self.customer is None and not upserted.created:
                raise IdentifierConflict(f"There is a customer with this already: {upserted.customer.pk}.")
        return upserted.customer

    def told(self) -> str:
        """The names of what was changed, "" for nothing; nothing of the person."""
        stored = self.customer.attributes if self.customer else {}
        names = [name for name in SPELLINGS if (self.initial.get(name) or "") != self.cleaned_data[name]]
        return ", ".join([*names, *sorted(_changed(stored, self.cleaned_data["attributes"]))])


def _changed(stored: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What a call has to send to make `written` of what is stored: None takes an attribute away."""
    gone: dict[str, Any] = {name: None for name in stored if name not in written}
    return gone | {
        name: value for name, value in written.items() if name not in stored or not same_json(stored[name], value)
    }


def saved(form: CustomerForm) -> Customer | None:
    """The customer as saved; None if the form says why not."""
    if not form.is_valid():
        return None
    try:
        return form.save()
    except Refusal as refusal:
        form.add_error(None, refusal.message)
    return None


_may_change_members = permitted("customers.change_segment")


def _segments(customer: Customer, *, belongs: bool) -> list[Segment]:
    """Those that the customer was put into, or the others, to which they can be added."""
    own = Segment.objects.filter(workspace=customer.workspace_id).order_by("name")
    there = SegmentMembership.objects.filter(workspace=customer.workspace_id, customer=customer)
    ids = set(there.values_list("segment_id", flat=True)[:_MOST_SEGMENTS])
    return [one for one in own[:_MOST_SEGMENTS] if (one.pk in ids) is belongs]


def _taking_out(customer: Customer, _: HttpRequest) -> list[Button]:
    return [
        Button(
            f"{one} \N{MULTIPLICATION SIGN}",
            look="small",
            inputs=[Input(name="segment", value=one.pk, hidden=True)],
            called=f"Take out of {one}",
        )
        for one in _segments(customer, belongs=True)
    ]


def _putting_in(customer: Customer, _: HttpRequest) -> list[Button]:
    others = [(one.pk, str(one)) for one in _segments(customer, belongs=False)]
    chosen = Input(name="segment", label="Segment", options=others)
    return [Button("Put into the segment", inputs=[chosen])] if others else []


def _segment(request: HttpRequest, customer: Customer) -> Segment:
    found = Segment.objects.filter(workspace=customer.workspace_id, pk=request.POST.get("segment", "")).first()
    if found is None:
        raise InvalidRequest("Choose a segment.")
    return found


def _put_in(_: Any, request: HttpRequest, customer: Customer) -> Done:
    segment = _segment(request, customer)
    put = put_in(workspace_id=customer.workspace_id, segment_id=segment.pk, customer_ids=[customer.pk])
    if not put:
        return Done(customer, f"They are in the segment {segment.key} already.", None)
    return Done(customer, f"Put into the segment {segment.key}.")


def _take_out(_: Any, request: HttpRequest, customer: Customer) -> Done:
    segment = _segment(request, customer)
    taken = take_out(workspace_id=customer.workspace_id, segment_id=segment.pk, customer_ids=[customer.pk])
    if not taken:
        return Done(customer, f"They were not put into the segment {segment.key}.", None)
    return Done(customer, f"Taken out of the segment {segment.key}.")


MEMBERSHIP = (
    Act("take_out", _take_out, route="take_out", may=_may_change_members, button=_taking_out),
    Act("put_in", _put_in, route="put_in", may=_may_change_members, button=_putting_in),
)
