"""The buttons below a journey: archive, restore, duplicate; and rolling back to a revision."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils import timezone
from unfold.contrib.filters.admin import RadioFilter

from engage.admin.parts.records import RecordAdmin
from engage.audit.acting import by_staff
from engage.http.query_strings import whole_number
from journeys.admin.content_rights import may_write_content
from journeys.admin.steering.how_to_trigger import ways_to_trigger
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


class ArchiveActs(RecordAdmin):
    """What the admin of journeys does beside showing and saving them."""

    change_form_outer_after_template: Any = "journeys/admin/keeping.html"

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        return {
            "ways_to_trigger": ways_to_trigger(record, base=request.build_absolute_uri("/").rstrip("/")),
            "may_keep": self.has_change_permission(request, record),
            "may_duplicate": self.may_duplicate(request),
        }

    def get_urls(self) -> list[URLPattern]:
        def address(route: str, name: str, act: _Act, allowed: Callable[[HttpRequest], bool]) -> URLPattern:
            def view(request: HttpRequest, object_id: str, **_: Any) -> HttpResponse:
                journey = self.found(request, object_id, may=allowed(request))

                @transaction.atomic
                def done() -> tuple[Journey, str]:
                    about, said = act(request, journey)
                    self.log_change(request, about, said)
                    return about, said

                return self.acted(request, journey, done)

            return self.address(f"<str:object_id>/{route}/", view, name, posted=True)

        may_change, may_copy = self.has_change_permission, self.may_duplicate
        return [
            address("archive", "archive", _archive, may_change),
            address("restore", "restore", _restore, may_change),
            address("duplicate", "duplicate", _duplicate, may_copy),
            address("roll-back", "roll_back", _roll_back, self.may_roll_back),
            *super().get_urls(),
        ]

    def may_roll_back(self, request: HttpRequest) -> bool:
        """Whether this member of staff may write steps, which an earlier revision brings back."""
        return self.has_change_permission(request) and may_write_content(request)

    def may_duplicate(self, request: HttpRequest) -> bool:
        """A copy has the credentials of the receivers, and whoever may change it may send them elsewhere."""
        return self.has_add_permission(request) and self.may_roll_back(request)


def _archive(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    archived = archive_journey(journey, actor=by_staff(request.user.get_username()), now=timezone.now())
    return journey, "Archived." if archived else "It was archived before."


def _restore(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    restored = restore_journey(workspace_id=journey.workspace_id, journey_id=journey.id, now=timezone.now())
    return journey, "Restored. It is switched off." if restored else "It was not archived."


def _duplicate(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    copy = duplicate_journey(journey, key=request.POST.get("key", "").strip(), now=timezone.now())
    return copy, f"This is a copy of {journey}. It is switched off."


def _roll_back(request: HttpRequest, journey: Journey) -> tuple[Journey, str]:
    sent = request.POST.get("number", "")
    number = whole_number(sent) or 0
    saved = roll_back(journey, number=number, now=timezone.now())
    if saved.outcome == "unchanged":
        return journey, f"Revision {number} is what the journey has now."
    return journey, f"Rolled back to revision {number}: this is revision {saved.journey.revision}."
