"""Pages about a journey beside its own: what is wrong with a draft, and trying it."""

from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern, reverse
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.admin.parts.records import RecordAdmin
from engage.audit.acting import by_staff
from engage.errors import Refusal
from journeys.admin.content_rights import WHY_NOT, may_write_content
from journeys.admin.journeys.drafts import draft_of as checked_form
from journeys.admin.journeys.preview import previewed
from journeys.admin.journeys.studio import (
    checked,
    publishing,
    sent_content,
    sent_mark,
    sent_version,
    studio_of,
    told_of,
)
from journeys.admin.journeys.trying import TryForm, may_send, may_try, sent, tried
from journeys.design.drafts import discard_draft, draft_of, keep_draft, publish_draft
from journeys.models import Journey


class JourneyPages(RecordAdmin):
    """Adds their addresses to the admin of journeys."""

    def get_urls(self) -> list[URLPattern]:
        return [
            self.address("draft/", self.draft, "new_draft", posted=True),
            self.address("<str:object_id>/try/", self.try_it, "try"),
            self.address("<str:object_id>/draft/", self.draft, "draft", posted=True),
            self.address("<str:object_id>/steps/", self.studio, "steps"),
            self.address("<str:object_id>/steps/keep/", self.keep, "keep", posted=True),
            self.address("<str:object_id>/steps/preview/", self.preview, "preview", posted=True),
            self.address("<str:object_id>/steps/publish/", self.publish, "publish"),
            self.address("<str:object_id>/steps/discard/", self.discard, "discard", posted=True),
            *super().get_urls(),
        ]

    def page_beside(
        self, journey: Journey, request: HttpRequest, template: str, *, title: str, **shown: Any
    ) -> HttpResponse:
        """A page about the journey, which leads back to its own."""
        about = {"media": self.media, "original": journey, "page": page_url(journey)}
        return self.page(request, template, title=title, **about, **shown)

    def draft(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Tells what is wrong with the form as it is sent, and how it would be drawn; saves nothing."""
        may_edit = self.has_change_permission(request) if object_id else self.has_add_permission(request)
        if not (may_edit and may_write_content(request)):
            raise PermissionDenied(WHY_NOT)
        journey = self.found(request, object_id, may=True) if object_id else None
        form = self.get_form(request, journey, change=journey is not None)
        return JsonResponse(checked_form(form(request.POST, instance=journey)))

    def _may_edit(self, request: HttpRequest) -> bool:
        return bool(self.has_change_permission(request)) and may_write_content(request)

    def studio(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page on which the journey is edited step by step; disabled for who may only look."""
        journey = self.found(request, object_id, may=True)
        may_edit = self._may_edit(request)
        return self.page_beside(
            journey,
            request,
            "journeys/admin/studio.html",
            title="Steps",
            may_edit=may_edit,
            studio=studio_of(journey, request=request, may_edit=may_edit, now=timezone.now()),
        )

    def keep(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Keeps what is sent as the draft, and tells what is wrong with it."""
        journey = self.found(request, object_id, may=self._may_edit(request))
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

    def preview(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What a text comes to for the customer who is named."""
        journey = self.found(request, object_id, may=may_try(request))
        try:
            return JsonResponse({"text": previewed(journey, request)})
        except Refusal as refusal:
            return JsonResponse({"message": refusal.message}, status=refusal.status)

    def publish(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Shows what the draft changes and for how many, and publishes it for who has seen that."""
        journey = self.found(request, object_id, may=self._may_edit(request))
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

    def discard(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Throws the draft away."""
        journey = self.found(request, object_id, may=self._may_edit(request))
        try:
            discard_draft(journey, version=sent_version(request))
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.message_user(request, "The draft is thrown away.")
        return HttpResponseRedirect(reverse("admin:journeys_journey_steps", args=[quote(journey.pk)]))

    def try_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Shows what the journey would do to a customer, and sends them through for those who ask for that."""
        journey = self.found(request, object_id, may=may_try(request))
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
