"""The buttons below a journey: archive, restore, duplicate; and rolling back to a revision."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import RadioFilter

from engage.admin.parts.acts import Act, Button, Done, Input, Place, may_add, may_change
from engage.audit.acting import by_staff
from engage.http.query_strings import whole_number
from journeys.faces.content_rights import may_write_content
from journeys.journey.keeping import archive_journey, duplicate_journey, restore_journey, roll_back
from journeys.models import Journey


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


def may_roll_back(model_admin: Any, request: HttpRequest) -> bool:
    """Whether this member of staff may write steps, which an earlier revision brings back."""
    return may_change(model_admin, request) and may_write_content(request)


def may_duplicate(model_admin: Any, request: HttpRequest) -> bool:
    """A copy has the credentials of the receivers, and whoever may change it may send them elsewhere."""
    return may_add(model_admin, request) and may_roll_back(model_admin, request)


def _archive(_: Any, request: HttpRequest, journey: Journey) -> Done:
    archived = archive_journey(journey, actor=by_staff(request.user.get_username()), now=timezone.now())
    return Done(journey, "Archived.") if archived else Done(journey, "It was archived before.", None)


def _restore(_: Any, request: HttpRequest, journey: Journey) -> Done:
    restored = restore_journey(workspace_id=journey.workspace_id, journey_id=journey.id, now=timezone.now())
    return Done(journey, "Restored. It is switched off.") if restored else Done(journey, "It was not archived.", None)


def _duplicate(_: Any, request: HttpRequest, journey: Journey) -> Done:
    copy = duplicate_journey(journey, key=request.POST.get("key", "").strip(), now=timezone.now())
    return Done(copy, f"This is a copy of {journey}. It is switched off.")


def _roll_back(_: Any, request: HttpRequest, journey: Journey) -> Done:
    sent = request.POST.get("number", "")
    number = whole_number(sent) or 0
    saved = roll_back(journey, number=number, now=timezone.now())
    if saved.outcome == "unchanged":
        return Done(journey, f"Revision {number} is what the journey has now.", None)
    return Done(journey, f"Rolled back to revision {number}: this is revision {saved.journey.revision}.")


def _archiving(journey: Journey, _: HttpRequest) -> list[Button]:
    managed = f"It is managed by {journey.managed_by}. " if journey.managed_by else ""
    follows = "It is hidden from the list and takes in no more customers; customers who are inside go on."
    asks = f"{managed}{follows} Archive it?"
    return [] if journey.archived_at else [Button("Archive", asks, tab="settings")]


def _restoring(journey: Journey, _: HttpRequest) -> list[Button]:
    return [Button("Restore from the archive", tab="settings")] if journey.archived_at else []


def _duplicating(journey: Journey, _: HttpRequest) -> list[Button]:
    key = Input(name="key", value=f"{journey.key[:95]}-copy", label="Key of the copy", at_most=100, required=True)
    return [Button("Duplicate", inputs=[key], tab="settings")]


KEEPING = (
    Act("duplicate", _duplicate, may=may_duplicate, button=_duplicating, place=Place.BELOW),
    Act("restore", _restore, button=_restoring, place=Place.BELOW),
    Act("archive", _archive, button=_archiving, place=Place.BELOW),
    Act("roll_back", _roll_back, may=may_roll_back),
)
