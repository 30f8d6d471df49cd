"""Pages about a journey beside its own: what is wrong with a draft, and trying it."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone

from engage.admin.parts.acts import Act, Button, may_add, may_look
from engage.admin.parts.columns import page_url
from engage.admin.parts.records import RecordAdmin
from engage.audit.acting import by_staff
from engage.errors import Refusal
from journeys.faces.content_rights import WHY_NOT, may_write_content
from journeys.journey.acts.keeping import may_roll_back
from journeys.journey.draft.checking import draft_of as checked_form
from journeys.journey.draft.drafts import discard_draft, draft_of, keep_draft, publish_draft
from journeys.journey.studio.page import (
    checked,
    publishing,
    sent_content,
    sent_mark,
    sent_version,
    studio_of,
    told_of,
)
from journeys.journey.studio.preview import previewed
from journeys.journey.studio.trying import TryForm, may_send, may_try, sent, tried
from journeys.models import Journey


def _may_try(_: Any, request: HttpRequest) -> bool:
    return may_try(request)


def _to_steps(_: Journey, request: HttpRequest) -> list[Button]:
    may_edit = request.user.has_perm("journeys.change_journey") and may_write_content(request)
    return [Button("Edit" if may_edit else "Look at the steps", look="first")]


class JourneyPages(RecordAdmin):
    """Adds them to the admin of journeys."""

    def page_beside(
        self, journey: Journey, request: HttpRequest, template: str, *, title: str, **shown: Any
    ) -> HttpResponse:
        """A page about the journey, which leads back to its own."""
        about = {"media": self.media, "original": journey, "page": page_url(journey)}
        return self.page(request, template, title=title, **about, **shown)

    def draft(self, request: HttpRequest, journey: Journey | None) -> HttpResponse:
        """Tells what is wrong with the form as it is sent, and how it would be drawn; saves nothing."""
        if not may_write_content(request):
            raise PermissionDenied(WHY_NOT)
        form = self.get_form(request, journey, change=journey is not None)
        return JsonResponse(checked_form(form(request.POST, instance=journey)))

    def studio(self, request: HttpRequest, journey: Journey) -> HttpResponse:
        """The page on which the journey is edited step by step; disabled for who may only look."""
        may_edit = may_roll_back(self, request)
        return self.page_beside(
            journey,
            request,
            "journeys/admin/studio.html",
            title="Steps",
            may_edit=may_edit,
            studio=studio_of(journey, request=request, may_edit=may_edit, now=timezone.now()),
        )

    def keep(self, request: HttpRequest, journey: Journey) -> HttpResponse:
        """Keeps what is sent as the draft, and tells what is wrong with it."""
        try:
            content = sent_content(request)
            draft = keep_draft(
                journey,
                sent=content,
                version=sent_version(request),
                began_from=sent_mark(request),
                by=request.user.get_username(),
                now=timezone.now(),
            )
        except Refusal as refusal:
            there = told_of(draft_of(journey), journey)
            return JsonResponse({**there, "message": refusal.message}, status=refusal.status)
        return JsonResponse({**checked(journey, content), **told_of(draft, journey)})

    def preview(self, request: HttpRequest, journey: Journey) -> HttpResponse:
        """What a text comes to for the customer who is named."""
        try:
            return JsonResponse({"text": previewed(journey, request)})
        except Refusal as refusal:
            return JsonResponse({"message": refusal.message}, status=refusal.status)

    def publish(self, request: HttpRequest, journey: Journey) -> HttpResponse:
        """Shows what the draft changes and for how many, and publishes it for who has seen that."""
        if request.method == "POST":
            said = {name: request.POST.get(name) == "yes" for name in ("knowingly", "move", "open")}
            by = by_staff(request.user.get_username())
            try:
                saved = publish_draft(
                    journey,
                    version=sent_version(request),
                    knowingly=said["knowingly"],
                    now=timezone.now(),
                    moved_by=by if said["move"] else None,
                    opened_by=by if said["open"] else None,
                )
            except Refusal as refusal:
                self.message_user(request, refusal.message, messages.ERROR)
                return HttpResponseRedirect(request.path)
            for warning in saved.warnings:
                self.message_user(request, f"{warning.place}: {warning.message}", messages.WARNING)
            moves = " Those inside are being moved along." if said["move"] else ""
            closed = "" if journey.active or said["open"] else " The journey is closed: nobody enters."
            self.message_user(request, f"Published as revision {saved.journey.revision}.{moves}{closed}")
            return HttpResponseRedirect(reverse("admin:journeys_journey_steps", args=[quote(journey.pk)]))
        draft = draft_of(journey)
        if draft is None:
            self.message_user(request, "There is nothing to publish.", messages.WARNING)
            return HttpResponseRedirect(reverse("admin:journeys_journey_steps", args=[quote(journey.pk)]))
        return self.page_beside(
            journey,
            request,
            "journeys/admin/publish.html",
            title="Publish",
            **publishing(journey, draft, request=request),
        )

    def discard(self, request: HttpRequest, journey: Journey) -> HttpResponse:
        """Throws the draft away."""
        try:
            discard_draft(journey, version=sent_version(request))
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.message_user(request, "The draft is thrown away.")
        return HttpResponseRedirect(reverse("admin:journeys_journey_steps", args=[quote(journey.pk)]))

    def try_it(self, request: HttpRequest, journey: Journey) -> HttpResponse:
        """Shows what the journey would do to a customer, and sends them through for those who ask for that."""
        if "send" in request.POST and not may_send(journey, request):
            raise PermissionDenied
        form, trial = TryForm(journey, request), None
        try:
            if form.is_valid() and "send" in request.POST:
                with transaction.atomic():
                    done = sent(journey, form)
                    self.log_change(request, journey, done)
                self.message_user(request, done)
                return HttpResponseRedirect(request.path)
            trial = tried(journey, form, request=request, now=timezone.now()) if form.is_valid() else None
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        return self.page_beside(
            journey,
            request,
            "journeys/admin/try.html",
            title="Try it",
            form=form,
            trial=trial,
            may_send=may_send(journey, request),
        )

    acts: ClassVar[Sequence[Act]] = (
        Act("new_draft", draft, route="draft", of_list=True, may=may_add, noted_as=None),
        Act("draft", draft, noted_as=None),
        Act("steps", studio, opens=True, may=may_look, button=_to_steps),
        Act("keep", keep, route="steps/keep", may=may_roll_back, noted_as=None),
        Act("preview", preview, route="steps/preview", may=_may_try, noted_as=None),
        Act("publish", publish, route="steps/publish", opens=True, may=may_roll_back),
        Act("discard", discard, route="steps/discard", may=may_roll_back, noted_as=None),
        Act("try", try_it, opens=True, may=_may_try, button=Button("Try it")),
    )
