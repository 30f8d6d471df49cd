"""Buttons that steer a journey, or take a call back: what they would do is shown first, in numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

from engage.admin.parts.acts import Act, Button, Done, permitted
from engage.admin.parts.columns import page_url
from engage.admin.parts.records import RecordAdmin
from engage.audit.acting import by_staff
from engage.database.table import right_to
from engage.errors import Refusal
from journeys.engine import wakeups
from journeys.engine.due import Due
from journeys.engine.steering.aborting import abort
from journeys.engine.steering.cancelling import cancel_trigger
from journeys.engine.steering.holding import MOST_PER_MINUTE, hold, resume
from journeys.journey.opening import activate, close
from journeys.models import Journey
from journeys.steps.exit import LONGEST_REASON

NOT_SETTLED = " What had begun before has not ended: a step may yet be written. Do it again to see that it has."
NOT_WITHDRAWN = " Some in-app messages may still be due. Do it again to withdraw them."
_LABELS = {
    "queued": "waiting for a decision",
    "inside": "staying inside",
    "released": "due meanwhile and going on",
    "exited": "leaving",
    "cancelled": "never to be decided",
    "already_decided": "decided before",
}


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label="Why", required=False, max_length=LONGEST_REASON, widget=UnfoldAdminTextareaWidget(attrs={"rows": 2})
    )


class RequiredReasonForm(ReasonForm):
    reason = forms.CharField(
        label="Why", max_length=LONGEST_REASON, widget=UnfoldAdminTextareaWidget(attrs={"rows": 2})
    )


class PaceForm(ReasonForm):
    per_minute = forms.IntegerField(
        label="How many per minute",
        required=False,
        min_value=1,
        max_value=MOST_PER_MINUTE,
        help_text="Empty: all.",
        widget=UnfoldAdminIntegerFieldWidget,
    )


class CancelForm(ReasonForm):
    leave = forms.BooleanField(
        label="Those who have entered by it leave", required=False, widget=UnfoldBooleanSwitchWidget
    )


@dataclass(frozen=True, kw_only=True)
class Steering:
    """What is done: its name, what is asked before, what follows, and what does it. `shown` are numbers that matter.

    `do` takes a record, the actor and what the form says, and with `dry_run` changes nothing.
    """

    name: str
    question: str
    what_follows: str
    done: str
    form: type[ReasonForm]
    shown: tuple[str, ...]
    do: Callable[..., Any]
    danger: bool = False

    def button(self, *, more: bool = False, **route: str) -> Button:
        return Button(f"{self.name}…", look="danger" if self.danger else "", more=more, route=route)


STEERING: Mapping[str, Steering] = {
    "hold": Steering(
        name="Hold",
        question="Hold the journey “{}”?",
        what_follows="Nobody steps any more and no webhook is sent. Customers still enter, and waits keep their times.",
        done="Held.",
        form=ReasonForm,
        shown=("queued", "inside"),
        do=hold,
    ),
    "resume": Steering(
        name="Resume",
        question="Resume the journey “{}”?",
        what_follows="What became due while it was held goes on.",
        done="Resumed.",
        form=PaceForm,
        shown=("released", "inside", "queued"),
        do=resume,
    ),
    "pace": Steering(
        name="Change the pace",
        question="Change the pace at which “{}” goes on?",
        what_follows="What is left of what became due while it was held goes on at this pace.",
        done="Changed.",
        form=PaceForm,
        shown=("released", "inside"),
        do=resume,
    ),
    "close": Steering(
        name="Close",
        question="Close the journey “{}”?",
        what_follows="Nobody enters any more, not even those who are queued and due. Those inside go on.",
        done="Closed.",
        form=ReasonForm,
        shown=("queued", "inside"),
        do=lambda journey, **said: close(journey, now=timezone.now(), **said),
    ),
    "activate": Steering(
        name="Activate",
        question="Activate the journey “{}”?",
        what_follows="Customers enter again.",
        done="Activated.",
        form=ReasonForm,
        shown=("queued", "inside"),
        do=lambda journey, **said: activate(journey, now=timezone.now(), **said),
    ),
    "abort": Steering(
        name="Abort",
        question="Abort the journey “{}”?",
        what_follows="It is closed, and all inside leave it, for good. What is queued or scheduled enters nobody.",
        done="Aborted.",
        form=RequiredReasonForm,
        shown=("exited", "queued"),
        do=abort,
        danger=True,
    ),
}
_CANCEL = Steering(
    name="Cancel",
    question="Take this call back: {}?",
    what_follows="Its jobs that are not decided never are. Those who have entered by it stay, or leave if you say so.",
    done="Cancelled.",
    form=CancelForm,
    shown=("cancelled", "already_decided", "inside", "exited"),
    do=lambda trigger, leave=True, **said: cancel_trigger(trigger, exit_enrollments=leave, **said),
    danger=True,
)
_HOLDING = ("hold", "resume", "pace")
_OF_STATE = {
    Journey.State.ACTIVE: ("hold", "close", "abort"),
    Journey.State.CLOSED: ("activate", "hold", "abort"),
    Journey.State.HELD: ("resume", "close", "abort"),
    Journey.State.ABORTED: ("activate",),
}


def _steering(journey: Journey, request: HttpRequest) -> list[Button]:
    """What its state allows and this member of staff may do; all but the first in a menu."""
    names = _OF_STATE[journey.state]
    if journey.state is Journey.State.HELD and not journey.active:
        names = ("resume", "activate", "abort")
    if journey.is_being_resumed and journey.state is not Journey.State.ABORTED:
        names = ("pace", *names)
    if journey.archived_at is not None:
        names = tuple(name for name in names if name != "activate")
    allowed = [name for name in names if _may(name, request)]
    return [STEERING[name].button(more=number > 0, act=name) for number, name in enumerate(allowed)]


may_steer = permitted("journeys.change_journey")


def _may(act: str, request: HttpRequest) -> bool:
    """Who may hold a journey may have it go on, and change how fast; all else is for those who may change it."""
    return may_steer(None, request) or (act in _HOLDING and request.user.has_perm(right_to("hold", Journey)))


def _form_of(step: Steering, request: HttpRequest) -> ReasonForm:
    return step.form(request.POST if request.method == "POST" else None)


def _ask(step: Steering, model_admin: RecordAdmin, request: HttpRequest, record: Any) -> HttpResponse | None:
    """The page that asks, with numbers, until it is answered."""
    form = _form_of(step, request)
    if form.is_valid():
        return None
    try:
        would = step.do(record, actor=by_staff(request.user.get_username()), reason="", dry_run=True)
    except Refusal as refusal:
        model_admin.message_user(request, refusal.message, messages.ERROR)
        return HttpResponseRedirect(page_url(record))
    return model_admin.page(
        request,
        "journeys/admin/steer.html",
        title=step.name,
        original=record,
        asked=step.question.format(record),
        act=step,
        form=form,
        numbers=_numbers(step, would),
        back=page_url(record),
    )


def _do(step: Steering, _: RecordAdmin, request: HttpRequest, record: Any) -> Done:
    form = _form_of(step, request)
    form.full_clean()
    did = step.do(record, actor=by_staff(request.user.get_username()), **form.cleaned_data)
    wakeups.wake(Due(walk=True, webhooks=True))
    numbers = ", ".join(f"{number:,} {label}" for number, label in _numbers(step, did))
    left = "" if getattr(did, "settled", True) else NOT_SETTLED
    left += "" if getattr(did, "all_withdrawn", True) else NOT_WITHDRAWN
    return Done(record, f"{step.done} {numbers}.{left}")


def _named(act: str, request: HttpRequest) -> Steering:
    if act not in STEERING:
        raise Http404
    if not _may(act, request):
        raise PermissionDenied
    return STEERING[act]


STEER = Act(
    "steer",
    lambda admin, request, record, act: _do(_named(act, request), admin, request, record),
    route="steer/<str:act>",
    may=lambda _, request: _may("hold", request),
    asks=lambda admin, request, record, act: _ask(_named(act, request), admin, request, record),
    noted_as=None,
    button=_steering,
)
CANCEL = Act(
    "cancel",
    partial(_do, _CANCEL),
    may=may_steer,
    asks=partial(_ask, _CANCEL),
    noted_as=None,
    button=_CANCEL.button(),
)


def _numbers(step: Steering, outcome: Any) -> list[tuple[int, str]]:
    return [(getattr(outcome, name), _LABELS[name]) for name in step.shown]
