"""Sending failed webhooks again: one, the chosen, or all that match, after asking; and how far that has come."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import ClassVar

from django.contrib import admin, messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from engage.admin.parts.acts import Act, Button, Input, Place, may_look, permitted
from engage.admin.parts.records import ReadOnlyAdmin
from engage.admin.rights.reach import reachable
from engage.audit.recording import Change, change, record
from engage.http.query_strings import whole_number
from engage.models import AuditEntry, Workspace
from journeys.delivery.failures.conditions import conditions_in, in_words, wanted_by
from journeys.engine.wakeups import wake_resender, wake_sender
from journeys.engine.webhooks.circuits import try_now
from journeys.engine.webhooks.failures import count_by_workspace
from journeys.engine.webhooks.resending import ask_to_resend, resend
from journeys.models import Resending, WebhookDelivery

ASKS_AGAIN = (
    "The same body is sent once more, under the same id, and what goes by a connection as that is now; the journey "
    "does not change. Send it?"
)
_RESENDINGS_SHOWN = timedelta(hours=1)


def _again(delivery: WebhookDelivery, _: HttpRequest) -> list[Button]:
    chosen = Input(name="chosen", value=str(delivery.pk))
    called = f"Send {delivery.webhook_id} again"
    again = Button("Send again", ASKS_AGAIN, inputs=[chosen], called=called)
    return [again] if delivery.state == WebhookDelivery.State.FAILED else []


_may_send = permitted("journeys.change_webhookdelivery")


class SendsAgain(ReadOnlyAdmin):
    """The action of the list, and the pages behind its buttons."""

    @admin.action(description="Send again", permissions=["send"])
    def send_chosen_again(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> HttpResponse:
        """Asks first."""
        ids = list(queryset.values_list("pk", flat=True))
        return self._ask(request, number=len(ids), chosen=ids)

    def has_send_permission(self, request: HttpRequest) -> bool:
        return _may_send(self, request)

    def send_again_view(self, request: HttpRequest, _: None) -> HttpResponse:
        """Asks about all that match, and sends again what was asked about: one, the chosen, or all that match."""
        if request.method != "POST":
            return self._ask(request, number=sum(count_by_workspace(wanted_by(request)).values()))
        sent = request.POST.getlist("chosen")
        chosen = [number for pk in sent if (number := whole_number(pk, at_most=2**63 - 1)) is not None]
        if len(chosen) < len(sent):
            raise BadRequest  # without it, all that match would be sent
        if chosen:
            self._send_chosen(request, chosen)
        else:
            self._send_all(request)
        return HttpResponseRedirect(f"{_list()}?{conditions_in(request)}")

    def _send_chosen(self, request: HttpRequest, chosen: list[int]) -> None:
        own = reachable(WebhookDelivery.objects.filter(pk__in=chosen), request=request)
        with transaction.atomic():
            ids = resend(own)
            _note(own.filter(pk__in=ids).defer("headers", "body"), "Sent again.")
            if ids:
                transaction.on_commit(wake_sender, robust=True)
        sent, left = len(ids), len(chosen) - len(ids)
        said = f"{_webhooks(sent)} sent again." if sent else ""
        if left:
            said += f" {_webhooks(left)} not: only one that has failed can be sent again, once its journey has gone on."
        self.message_user(request, said.strip(), messages.WARNING if left else messages.SUCCESS)

    def _send_all(self, request: HttpRequest) -> None:
        with transaction.atomic():
            asked = ask_to_resend(wanted_by(request), asked_by=request.user.get_username(), now=timezone.now())
            _note(asked, f"Asked to send again: {conditions_in(request) or 'all'}")
            transaction.on_commit(wake_resender, robust=True)
        total = sum(one.total for one in asked)
        self.message_user(
            request, f"{_webhooks(total)} sent again, in the background." if total else "Nothing matches any more."
        )

    def _ask(self, request: HttpRequest, *, number: int, chosen: list[int] | None = None) -> HttpResponse:
        return self.page(
            request,
            "journeys/admin/failures/confirm.html",
            title="Send again",
            asked=f"Send {_webhooks(number, is_are=False)} again?" if number else "Nothing matches.",
            number=number,
            chosen=chosen or [],
            conditions=in_words(request) if chosen is None else [],
            action=f"{reverse('admin:journeys_webhookdelivery_send_again')}?{conditions_in(request)}",
            back=f"{_list()}?{conditions_in(request)}",
        )

    def try_now_view(self, request: HttpRequest, _: None) -> HttpResponse:
        """Has something that is left alone tried at once, and goes back to where that was asked for."""
        workspace = reachable(Workspace.objects.all(), request=request).filter(pk=request.POST.get("workspace")).first()
        if workspace is None:
            raise PermissionDenied
        host, source = request.POST.get("host", ""), request.POST.get("source")
        with transaction.atomic():
            tried = try_now(workspace_id=workspace.pk, host=host, source=source)
            if tried:
                steered = AuditEntry.Action.STEERED
                record(
                    Change(action=steered, workspace_id=workspace.pk, kind="steeredhost", id=host, note="Tried now.")
                )
                transaction.on_commit(wake_sender, robust=True)
        self.message_user(request, "It is tried now." if tried else "It is not left alone any more.")
        opened = request.headers.get("Referer", "")
        allowed = url_has_allowed_host_and_scheme(opened, {request.get_host()})
        return HttpResponseRedirect(opened if allowed else reverse("admin:index"))

    def progress_view(self, request: HttpRequest, _: None) -> HttpResponse:
        """How far sending again has come: a part of the page, which a script fetches again and again."""
        return TemplateResponse(request, "journeys/admin/failures/progress.html", {"resendings": resendings(request)})

    acts: ClassVar[Sequence[Act]] = (
        Act(
            "send_again",
            send_again_view,
            of_list=True,
            opens=True,
            may=lambda admin, request: may_look(admin, request) and _may_send(admin, request),
            button=_again,
            place=Place.ROW,
        ),
        Act("sending_again", progress_view, of_list=True, opens=True, may=may_look),
        Act("try_now", try_now_view, of_list=True, may=_may_send, noted_as=None),
    )


def resendings(request: HttpRequest) -> list[Resending]:
    """What is being sent again, and what was until lately, in the workspaces that this member of staff sees."""
    lately = f"{int((timezone.now() - _RESENDINGS_SHOWN).timestamp()):08x}"
    shown = Resending.objects.filter(Q(ended_at__isnull=True) | Q(pk__gte=lately))
    return list(reachable(shown, request=request).select_related("workspace").order_by("-pk")[:5])


def _list() -> str:
    return reverse("admin:journeys_webhookdelivery_changelist")


def _webhooks(number: int, *, is_are: bool = True) -> str:
    plural = number != 1
    said = f"{number:,} webhook{'s' if plural else ''}"
    return f"{said} {'are' if plural else 'is'}" if is_are else said


def _note(records: Iterable[WebhookDelivery | Resending], note: str) -> None:
    record(*(change(AuditEntry.Action.SENT_AGAIN, one, note=note) for one in records))
