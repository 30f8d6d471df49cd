"""The global search box (Ctrl + K), which finds any record by an id, a job id, an identifier or a part of a name."""

from django.apps import apps
from django.contrib import admin
from django.db.models import prefetch_related_objects
from django.http import HttpRequest
from unfold.dataclasses import SearchResult

from engage.admin.parts.columns import may_view, page_url
from engage.admin.parts.records import RecordAdmin
from engage.models import Workspace

_RESULTS_OF_A_KIND = 5


def find_anywhere(request: HttpRequest, _lowered: str) -> list[SearchResult]:
    """The latest few records of each kind that match the search and that this member of staff may view."""
    text = request.GET.get("s", "").strip()  # not lower-cased: an external id may have capitals
    if not text or "\x00" in text:
        return []
    admins = map(admin.site.get_model_admin, filter(admin.site.is_registered, apps.get_models()))
    asked = [one for one in admins if isinstance(one, RecordAdmin) and one.has_view_permission(request)]
    return [result for one in sorted(asked, key=lambda one: one.rank) for result in _found(one, request, text)]


def _found(model_admin: RecordAdmin, request: HttpRequest, text: str) -> list[SearchResult]:
    meta = model_admin.model._meta
    records = model_admin.hits(request, text, most=_RESULTS_OF_A_KIND)
    tells_whose = hasattr(model_admin.model, "workspace") and may_view(Workspace, request=request)
    if tells_whose:
        prefetch_related_objects(records, "workspace")
    return [
        SearchResult(
            title=model_admin.title_of(record, request),
            description=f"{meta.verbose_name} of {record.workspace}" if tells_whose else str(meta.verbose_name),
            link=page_url(record),
            icon="data_object",
        )
        for record in records
    ]
