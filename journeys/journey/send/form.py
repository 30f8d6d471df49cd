"""What is asked for a send by hand; the rules are those of a call."""

import hashlib
import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminTextareaWidget

from customers.audience.selection import Audience
from customers.identifier_rules import one_spelling_of_each
from customers.models import Segment
from engage.admin.parts.times import TimeField
from engage.errors import Refusal
from engage.notations.sizes import KIB
from journeys.engine.entering.schedules import read_schedule
from journeys.engine.entering.terms import NO_TERMS, Request, Terms
from journeys.journey.payload_field import PayloadField, defaults_of
from journeys.models import Journey

MOST_PASTED = 1000  # as in a call
_MOST_SEGMENTS = 500
_MAX_PAYLOAD_BYTES = 64 * KIB
_BETWEEN_IDS = re.compile(r"[\s,;]+")
_ZONE_FIELD, _ZONE = "customer.timezone", "UTC"


def _pasted(text: str) -> tuple[str, ...]:
    ids = tuple(one_spelling_of_each([one for one in _BETWEEN_IDS.split(text) if one]))
    if len(ids) > MOST_PASTED:
        raise ValidationError(f"These are {len(ids):,} ids; {MOST_PASTED:,} may be pasted at once. Use a segment.")
    return ids


def _words(value: str) -> forms.TextInput:
    return forms.TextInput(attrs={"class": "engage-input", "placeholder": value})


class SendForm(forms.Form):
    """Whom to send to, when, and with which payload. `terms` are, once it is valid, what a call says of the time."""

    terms = NO_TERMS
    segments = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="All who belong to any of them; with ids, only those of the ids who do.",
    )
    ids = forms.CharField(
        label="External ids",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text=f"Up to {MOST_PASTED:,}, one per line or with commas between them.",
    )
    exclude = forms.CharField(
        label="Leave out",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="External ids of customers who get nothing.",
    )
    payload = PayloadField(most_bytes=_MAX_PAYLOAD_BYTES)
    at = TimeField(
        label=format_html('At <span class="font-normal text-subtle" data-zone>{}</span>', "(UTC)"),
        required=False,
        help_text="At most a year ahead; empty: now. Segments are looked at when you send, entry rules at this time.",
    )
    local = forms.CharField(
        label="Or at this time by each customer's own clock",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "class": "engage-input"}),
    )
    zone_field = forms.CharField(
        label="Whose zone stands in",
        required=False,
        empty_value=_ZONE_FIELD,
        widget=_words(_ZONE_FIELD),
    )
    zone = forms.CharField(
        label="Else",
        required=False,
        empty_value=_ZONE,
        widget=_words(_ZONE),
        help_text="The zone of those of whom none is known, such as Europe/Berlin.",
    )

    def __init__(self, journey: Journey, request: HttpRequest) -> None:
        super().__init__(request.POST or None)
        own = Segment.objects.filter(workspace=journey.workspace_id).order_by("name")[:_MOST_SEGMENTS]
        self.fields["segments"].choices = [(one.pk, one.name) for one in own]  # type: ignore[attr-defined]
        self.fields["payload"].meet(journey.payload_schema)  # type: ignore[attr-defined]
        if journey.payload_schema is not None:
            self.fields["payload"].initial = defaults_of(journey.payload_schema) or None

    def parts(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields as the page has them, with their headings."""
        return [
            ("To whom", [self["segments"], self["ids"], self["exclude"]]),
            ("What", [self["payload"]]),
            ("When", [self["at"]]),
        ]

    def by_clock(self) -> list[forms.BoundField]:
        """Those for a time that is another instant for each customer."""
        return [self["local"], self["zone_field"], self["zone"]]

    def clean_ids(self) -> tuple[str, ...]:
        return _pasted(self.cleaned_data["ids"])

    def clean_exclude(self) -> tuple[str, ...]:
        return _pasted(self.cleaned_data["exclude"])

    def clean(self) -> None:
        if self.errors:
            return
        if not self.cleaned_data["segments"] and not self.cleaned_data["ids"]:
            raise ValidationError("Choose a segment, or paste ids.")
        try:
            self.terms = self._terms()
        except Refusal as refusal:
            raise ValidationError({"local" if self.cleaned_data["local"] else "at": refusal.message}) from None

    def _terms(self) -> Terms:
        """Raises InvalidRequest for a time of which a call would not be taken."""
        said = self.cleaned_data
        if said["at"] and said["local"]:
            raise ValidationError({"local": "Give one time only."})
        if said["local"]:
            by_clock = {"local": said["local"], "timezoneFrom": said["zone_field"], "else": said["zone"]}
            return Terms(schedule=read_schedule(by_clock))
        return Terms(schedule=read_schedule(said["at"].isoformat())) if said["at"] else NO_TERMS

    def request_to(self, journey: Journey) -> Request:
        """What is asked of the journey."""
        return Request(
            workspace_id=journey.workspace_id,
            journey_id=journey.pk,
            payload=self.cleaned_data["payload"],
            terms=self.terms,
        )

    def audience(self) -> Audience:
        said = self.cleaned_data
        return Audience(
            external_ids=said["ids"] or None,
            segment_ids=tuple(said["segments"]) or None,
            exclude_external_ids=said["exclude"],
        )

    def digest(self) -> str:
        """Of all that is said: another send has another one."""
        said: dict[str, Any] = self.cleaned_data
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
