"""The global search box (Ctrl + K), which finds any record by an id, a job id, an external id or an e-mail address."""

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from unfold.dataclasses import SearchResult

from engage.admin.columns import may_view, page_url
from engage.admin.records import RecordAdmin
from engage.models import Workspace

_RESULTS_OF_A_KIND = 5


def find_anywhere(request: HttpRequest, _lowered: str) -> list[SearchResult]:
    """The latest few records of each kind that match the search and that this member of staff may view."""
    text = request.GET.get("s", "").strip()  # not lower-cased: an external id may have capitals
    if not text or "\x00" in text:
        return []
    return [
        result
        for model_admin in map(admin.site.get_model_admin, filter(admin.site.is_registered, apps.get_models()))
        if isinstance(model_admin, RecordAdmin) and model_admin.has_view_permission(request)
        for result in _found(model_admin, request, text)
    ]


def _found(model_admin: RecordAdmin, request: HttpRequest, text: str) -> list[SearchResult]:
    meta = model_admin.model._meta
    everything = model_admin.get_queryset(request).prefetch_related(None).order_by("-pk")
    records, _ = model_admin.get_search_results(request, everything, text)
    tells_whose = hasattr(model_admin.model, "workspace") and may_view(Workspace, request=request)
    if tells_whose:
        records = records.prefetch_related("workspace")
    return [
        SearchResult(
            title=str(record),
            description=f"{meta.verbose_name} of {record.workspace}" if tells_whose else str(meta.verbose_name),
            link=page_url(record),
            icon="data_object",
        )
        for record in records[:_RESULTS_OF_A_KIND]
    ]
