"""Pages about a journey beside its own: what is wrong with a draft, and trying it."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.admin.parts.records import RecordAdmin
from engage.errors import Refusal
from journeys.admin.content_rights import WHY_NOT, may_write_content
from journeys.admin.journeys.drafts import draft_of
from journeys.admin.journeys.trying import TryForm, may_send, may_try, sent, tried


class JourneyPages(RecordAdmin):
    """Adds their addresses to the admin of journeys."""

    def get_urls(self) -> list[URLPattern]:
        return [
            self.address("draft/", self.draft, "new_draft", posted=True),
            self.address("<str:object_id>/try/", self.try_it, "try"),
            self.address("<str:object_id>/draft/", self.draft, "draft", posted=True),
            *super().get_urls(),
        ]

    def draft(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Tells what is wrong with the form as it is sent, and how it would be drawn; saves nothing."""
        may_edit = self.has_change_permission(request) if object_id else self.has_add_permission(request)
        if not (may_edit and may_write_content(request)):
            raise PermissionDenied(WHY_NOT)
        journey = self.found(request, object_id, may=True) if object_id else None
        form = self.get_form(request, journey, change=journey is not None)
        return JsonResponse(draft_of(form(request.POST, instance=journey)))

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
        return self.page(
            request,
            "journeys/admin/try.html",
            title="Try it",
            media=self.media,
            original=journey,
            page=page_url(journey),
            form=form,
            trial=trial,
            may_send=may_send(journey, request),
        )
