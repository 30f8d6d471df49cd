"""Send: a journey is triggered by hand for segments or pasted ids. First a dry run, then the number typed.

What is sent is what was tried: the token between the two holds the form's digest, and is good once. It is a trigger as
a call by API makes it, noted in the audit as done by who sent it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib.sessions.models import Session
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.crypto import get_random_string
from django.utils.safestring import SafeString

from customers.models import Customer
from engage.admin.parts.acts import Act, Button, may_look
from engage.admin.parts.columns import badge, link, page_url
from engage.audit.recording import change, record
from engage.errors import Refusal
from engage.models import AuditEntry
from journeys.engine.entering.dry_runs import Tried, dry_run_many, leaving_at_once
from journeys.engine.entering.terms import Schedule
from journeys.engine.entering.trigger import trigger_many
from journeys.faces.results import JOB_RESULT
from journeys.journey.send.form import SendForm
from journeys.journey.studio.trying import may_send
from journeys.journey.studio.views import JourneyPages
from journeys.models import Journey, Trigger
from journeys.rules.entry_rules import Verdict

_EACH = 5  # samples of each result
_LEAVES = "leaves_at_once"
_GOOD_FOR = 3600  # seconds
_SENT = "sent_by_hand"  # in the session
_MOST_REMEMBERED = 20
_HEADERS = ["Customer", "Result", "Why"]


@dataclass(frozen=True, kw_only=True)
class TriedSend:
    """What a send would do, ready for the template. `found` are queued; only those of the first row would stay.

    `samples` are some of those, `left_out` some of the others by each result, and `missing` who is named in vain.
    """

    found: int
    results: Sequence[tuple[SafeString, str]]
    samples: dict[str, Any]
    left_out: dict[str, Any]
    missing: Sequence[tuple[str, str, str]]
    due: str
    token: str


def tried_send(journey: Journey, form: SendForm) -> TriedSend:
    """Decides on each customer as a worker would when they are due; nothing is queued. Raises Refusal."""
    request = form.request_to(journey)
    run = dry_run_many(request, form.audience())
    results, some = Counter[str](), defaultdict[str, list[Tried]](list)
    for page in run.pages:
        leaving = leaving_at_once(request, journey=journey, tried=page)
        for one in page:
            result = _LEAVES if one.customer_id in leaving else one.result.value
            results[result] += 1
            if len(some[result]) < _EACH:
                some[result].append(one)
    staying = some.pop(Verdict.ENROLLED.value, [])
    named = run.left_out
    missing = {
        "ids that nobody has": named.unknown,
        "left out as you asked": [one.external_id or "" for one in named.excluded],
        "in none of the segments": [one.external_id or "" for one in named.not_in_segments],
    }
    token = {"journey": journey.pk, "said": form.digest(), "found": results.total(), "once": get_random_string(12)}
    return TriedSend(
        found=results.total(),
        results=[(_label(result), f"{number:,}") for result, number in results.most_common()],
        samples=_table({Verdict.ENROLLED.value: staying}),
        left_out=_table(some),
        missing=[(what, f"{len(ids):,}", _some_of(ids)) for what, ids in missing.items() if ids],
        due=_due(form.terms.schedule),
        token=signing.dumps(token, salt=_SENT),
    )


def _label(result: str) -> SafeString:
    return badge(result, JOB_RESULT.get(result, "warning"))


def _some_of(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_EACH]) + (", …" if len(ids) > _EACH else "")


def _table(tried: Mapping[str, Sequence[Tried]]) -> dict[str, Any]:
    known = Customer.objects.in_bulk([one.customer_id for some in tried.values() for one in some])
    rows = [
        [
            link(known[one.customer_id]) if one.customer_id in known else one.customer_id,
            _label(result),
            "An exit condition holds before the first step."
            if result == _LEAVES
            else " ".join([one.reason, *one.details]),
        ]
        for result, some in tried.items()
        for one in some
    ]
    return {"headers": _HEADERS, "rows": rows}


def _due(schedule: Schedule | None) -> str:
    """When that is, as words; "" for now."""
    if schedule is None:
        return ""
    if schedule.local is not None:
        return f"{schedule.local:%Y-%m-%d %H:%M} by each customer's own clock"
    return f"{schedule.at:%Y-%m-%d %H:%M} UTC"


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
        queued = trigger_many(form.request_to(journey), form.audience())
        trigger = Trigger.objects.get(pk=queued.trigger.id)
        due = _due(form.terms.schedule)
        note = f"Sent by hand to {queued.trigger.customers:,}{due and f', due {due}'}."
        record(change(AuditEntry.Action.CREATED, trigger, note=note))
    return trigger


def _sending(journey: Journey, request: HttpRequest) -> list[Button]:
    by_call = journey.trigger_type == Journey.TriggerType.API
    return [Button("Send…")] if by_call and may_send(journey, request) else []


class SendPages(JourneyPages):
    """Adds the page to the admin of journeys."""

    def send_it(self, request: HttpRequest, journey: Journey) -> HttpResponse:
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
        due = _due(form.terms.schedule)
        self.message_user(
            request, f"{'Scheduled for' if due else 'Sent to'} {trigger.customers:,}{due and f', due {due}'}."
        )
        return HttpResponseRedirect(page)

    acts: ClassVar[Sequence[Act]] = (
        *JourneyPages.acts,
        Act("send", send_it, opens=True, may=may_look, button=_sending),
    )
