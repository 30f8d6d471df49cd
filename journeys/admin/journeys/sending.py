"""Send: a journey is triggered by hand for segments or pasted ids. First a dry run, then the number typed.

What is sent is what was tried: the token between the two holds the form's digest, and is good once. It is a trigger as
a call by API makes it, noted in the audit as done by who sent it.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.sessions.models import Session
from django.core import signing
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils.crypto import get_random_string
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget

from customers.audience.selection import Audience
from customers.identifier_rules import one_spelling_of_each
from customers.models import Customer, Segment
from engage.admin.parts.columns import badge, link, page_url
from engage.admin.parts.json_field import JsonField
from engage.audit.recording import change, record
from engage.errors import Refusal
from engage.json.compact import json_bytes
from engage.json.storable import STORED_DEPTH, depth
from engage.models import AuditEntry
from engage.sizes import KIB
from journeys.admin.journeys.trying import may_send
from journeys.admin.journeys.views import JourneyPages
from journeys.admin.results import JOB_RESULT
from journeys.entering.dry_runs import Tried, dry_run_many
from journeys.entering.trigger import trigger_many
from journeys.entry_rules import Verdict
from journeys.models import Journey, Trigger

MOST_PASTED = 1000  # as in a call
_MOST_SEGMENTS = 500
_SAMPLES = 5
_MAX_PAYLOAD_BYTES = 64 * KIB
_GOOD_FOR = 3600  # seconds
_SENT = "sent_by_hand"  # in the session
_MOST_REMEMBERED = 20
_BETWEEN_IDS = re.compile(r"[\s,;]+")


def _pasted(text: str) -> tuple[str, ...]:
    ids = tuple(one_spelling_of_each([one for one in _BETWEEN_IDS.split(text) if one]))
    if len(ids) > MOST_PASTED:
        raise ValidationError(f"These are {len(ids):,} ids; {MOST_PASTED:,} may be pasted at once. Use a segment.")
    return ids


class SendForm(forms.Form):
    """Whom to send to, and with which payload; the rules are those of a call."""

    segments = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="All who belong to any of them; with ids, only those of the ids who do.",
    )
    ids = forms.CharField(
        label="External ids",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=f"Up to {MOST_PASTED:,}, one per line or with commas between them.",
    )
    exclude = forms.CharField(
        label="Leave out",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="External ids of customers who get nothing.",
    )
    payload = JsonField(named="payload", required=False, help_text='Such as {"coupon": "WELCOME10"}; empty: nothing.')

    def __init__(self, journey: Journey, request: HttpRequest) -> None:
        super().__init__(request.POST or None)
        own = Segment.objects.filter(workspace=journey.workspace_id).order_by("name")[:_MOST_SEGMENTS]
        self.fields["segments"].choices = [(one.pk, one.name) for one in own]  # type: ignore[attr-defined]

    def clean_ids(self) -> tuple[str, ...]:
        return _pasted(self.cleaned_data["ids"])

    def clean_exclude(self) -> tuple[str, ...]:
        return _pasted(self.cleaned_data["exclude"])

    def clean_payload(self) -> dict[str, Any]:
        payload = {} if self.cleaned_data["payload"] is None else self.cleaned_data["payload"]
        if not isinstance(payload, dict):
            raise ValidationError("This must be an object.")
        if depth(payload) > STORED_DEPTH or json_bytes(payload) > _MAX_PAYLOAD_BYTES:
            raise ValidationError(f"This may be nested {STORED_DEPTH} deep, and hold {_MAX_PAYLOAD_BYTES // KIB} KiB.")
        return payload

    def clean(self) -> None:
        if not self.errors and not self.cleaned_data["segments"] and not self.cleaned_data["ids"]:
            raise ValidationError("Choose a segment, or paste ids.")

    def audience(self) -> Audience:
        said = self.cleaned_data
        return Audience(
            external_ids=said["ids"] or None,
            segment_ids=tuple(said["segments"]) or None,
            exclude_external_ids=said["exclude"],
        )

    def digest(self) -> str:
        """Of all that is said: another send has another one."""
        return hashlib.sha256(json.dumps(self.cleaned_data, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class TriedSend:
    """What a send would do, ready for the template. `found` are queued; only those of the first row would enter."""

    found: int
    results: Sequence[tuple[SafeString, str]]
    left_out: Sequence[tuple[str, str]]
    samples: dict[str, Any]
    token: str


def tried_send(journey: Journey, form: SendForm) -> TriedSend:
    """Decides on each customer as a worker would now; nothing is queued. Raises Refusal."""
    said = form.cleaned_data
    run = dry_run_many(
        workspace_id=journey.workspace_id, journey_id=journey.pk, audience=form.audience(), payload=said["payload"]
    )
    results, samples = Counter[Verdict](), list[Tried]()
    for page in run.pages:
        results.update(one.result for one in page)
        samples += page[: _SAMPLES - len(samples)]
    missing = run.left_out
    left_out = {
        "ids that nobody has": len(missing.unknown),
        "left out as you asked": len(missing.excluded),
        "in none of the segments": len(missing.not_in_segments),
    }
    token = {"journey": journey.pk, "said": form.digest(), "found": results.total(), "once": get_random_string(12)}
    return TriedSend(
        found=results.total(),
        results=[(badge(one.value, JOB_RESULT[one.value]), f"{number:,}") for one, number in results.most_common()],
        left_out=[(what, f"{number:,}") for what, number in left_out.items() if number],
        samples={"headers": ["Customer", "Result", "Why"], "rows": _rows(samples)},
        token=signing.dumps(token, salt=_SENT),
    )


def _rows(samples: Sequence[Tried]) -> list[list[Any]]:
    known = Customer.objects.in_bulk([one.customer_id for one in samples])
    return [
        [
            link(known[one.customer_id]) if one.customer_id in known else one.customer_id,
            badge(one.result.value, JOB_RESULT[one.result.value]),
            " ".join([one.reason, *one.details]),
        ]
        for one in samples
    ]


def _confirmed(journey: Journey, form: SendForm, request: HttpRequest) -> str | None:
    """What makes the send once, if what was tried is confirmed by its number. Raises Refusal where it is not."""
    try:
        token = signing.loads(request.POST.get("token", ""), salt=_SENT, max_age=_GOOD_FOR)
    except signing.BadSignature:
        return None
    if (token["journey"], token["said"]) != (journey.pk, form.digest()):
        raise NotConfirmed("What is to be sent has changed since it was tried. Look at the numbers again.")
    if request.POST.get("number", "").replace(",", "").strip() != str(token["found"]):
        raise NotConfirmed(f"Type {token['found']} to confirm.")
    return str(token["once"])


class NotConfirmed(Refusal):
    """The number typed is not that of the dry run, or something else is to be sent than was tried."""

    error = "Not confirmed"


def send(journey: Journey, form: SendForm) -> Trigger:
    """Queues them, and notes who did. Raises Refusal."""
    with transaction.atomic():
        queued = trigger_many(
            workspace_id=journey.workspace_id,
            journey_id=journey.pk,
            audience=form.audience(),
            payload=form.cleaned_data["payload"],
            called_by="",
        )
        trigger = Trigger.objects.get(pk=queued.trigger.id)
        record(change(AuditEntry.Action.CREATED, trigger, note=f"Sent by hand to {queued.trigger.customers:,}."))
    return trigger


class SendPages(JourneyPages):
    """Adds the page to the admin of journeys."""

    def get_urls(self) -> list[URLPattern]:
        return [self.address("<str:object_id>/send/", self.send_it, "send"), *super().get_urls()]

    def send_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        journey = self.found(request, object_id, may=True)
        if not may_send(journey, request):
            raise PermissionDenied
        form, trial = SendForm(journey, request), None
        try:
            if form.is_valid():
                if "send" in request.POST and (once := _confirmed(journey, form, request)):
                    return self._sent(request, journey, form, once)
                trial = tried_send(journey, form)
        except NotConfirmed as refusal:
            form.add_error(None, refusal.message)
            trial = tried_send(journey, form)
        except Refusal as refusal:
            form.add_error(None, refusal.message)
        return self.page_beside(journey, request, "journeys/admin/send.html", title="Send", form=form, trial=trial)

    def _sent(self, request: HttpRequest, journey: Journey, form: SendForm, once: str) -> HttpResponse:
        """A form that is sent twice, or twice at the same moment, sends once: the session is locked."""
        with transaction.atomic():
            session = Session.objects.select_for_update().get(pk=request.session.session_key)
            before: dict[str, str] = session.get_decoded().get(_SENT, {})
            if once in before:
                return HttpResponseRedirect(before[once])
            trigger = send(journey, form)
            page = page_url(trigger)
            request.session[_SENT] = dict([*before.items(), (once, page)][-_MOST_REMEMBERED:])
            request.session.save()
        self.message_user(request, f"Sent to {trigger.customers:,}.")
        return HttpResponseRedirect(page)
