"""The buttons below a journey: archive, restore, duplicate; and rolling back to a revision."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from unfold.contrib.filters.admin import RadioFilter

from engage.admin.columns import page_url
from engage.admin.reach import reachable
from engage.admin.records import RecordAdmin
from engage.errors import Refusal
from journeys.admin.content_rights import may_write_content, sees_credentials
from journeys.admin.how_to_trigger import ways_to_trigger
from journeys.design.keeping import archive_journey, duplicate_journey, restore_journey, roll_back
from journeys.models import Journey

_Act = Callable[[HttpRequest, Journey], tuple[Journey, str]]


class ArchivedFilter(RadioFilter):
    """The archived ones are hidden until they are asked for."""

    title = "archive"
    parameter_name = "archived"
    all_option: Any = ("", "Not archived")

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("yes", "Archived"), ("all", "Both")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        return queryset.filter(archived_at__isnull=self.value() != "yes")


class KeepsJourneys(RecordAdmin):
    """What the admin of journeys does beside showing and saving them."""

    change_form_outer_after_template: Any = "journeys/admin/keeping.html"

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        journey = context["original"]
        if journey is not None:
            context |= {
                "ways_to_trigger": ways_to_trigger(journey, base=request.build_absolute_uri("/").rstrip("/")),
                "may_keep": self.has_change_permission(request, journey),
                "may_duplicate": self.may_duplicate(request),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[URLPattern]:
        def view(act: _Act, allowed: Callable[[HttpRequest], bool]) -> Any:
            def acting(request: HttpRequest, object_id: str, **_: Any) -> HttpResponse:
                return self._act(request, object_id, act, allowed)

            return self.admin_site.admin_view(acting)

        may_change, may_copy = self.has_change_permission, self.may_duplicate
        return [
            path("<str:object_id>/archive/", view(_archive, may_change), name="journeys_journey_archive"),
            path("<str:object_id>/restore/", view(_restore, may_change), name="journeys_journey_restore"),
            path("<str:object_id>/duplicate/", view(_duplicate, may_copy), name="journeys_journey_duplicate"),
            path("<str:object_id>/roll-back/", view(_roll_back, self.may_roll_back), name="journeys_journey_roll_back"),
            *super().get_urls(),
        ]

    def may_roll_back(self, request: HttpRequest) -> bool:
        """Whether this member of staff may write steps, which an earlier revision brings back."""
        return self.has_change_permission(request) and may_write_content(request)

    def may_duplicate(self, request: HttpRequest) -> bool:
        """A copy has the credentials of the receivers, and whoever may change it may send them elsewhere."""
        return self.has_add_permission(request) and sees_credentials(request)

    def _act(
        self, request: HttpRequest, object_id: str, act: _Act, allowed: Callable[[HttpRequest], bool]
    ) -> HttpResponse:
        """Does it, logs who did, and goes to the page of the journey that it is about then."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not (self.has_view_permission(request) and allowed(request)):
            raise PermissionDenied
        own = reachable(Journey.objects.filter(pk=object_id), request=request)
        journey = own.select_related("workspace").first()
        if journey is None:
            raise Http404
        try:
            journey, done = act(request, journey)
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.log_change(request, journey, done)
            self.message_user(request, done)
        return HttpResponseRedirect(page_url(journey))


def _archive(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    archived = archive_journey(workspace_id=journey.workspace_id, journey_id=journey.id, now=timezone.now())
    return journey, "Archived." if archived else "It was archived before."


def _restore(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    restored = restore_journey(workspace_id=journey.workspace_id, journey_id=journey.id, now=timezone.now())
    return journey, "Restored. It is switched off." if restored else "It was not archived."


def _duplicate(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    copy = duplicate_journey(journey, key=request.POST.get("key", "").strip(), now=timezone.now())
    return copy, f"This is a copy of {journey}. It is switched off."


def _roll_back(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    sent = request.POST.get("number", "")
    number = int(sent) if sent.isdecimal() and len(sent) < 10 else 0  # noqa: PLR2004 (as many as the column holds)
    saved = roll_back(journey, number=number, now=timezone.now())
    if saved.outcome == "unchanged":
        return journey, f"Revision {number} is what the journey has now."
    return journey, f"Rolled back to revision {number}: this is revision {saved.journey.revision}."
