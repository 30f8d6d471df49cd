"""What the admin of records has beside lists and forms: addresses, pages and buttons of its own."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST

from engage.admin.parts.columns import page_url
from engage.errors import Refusal


class ActingAdmin(admin.ModelAdmin[Any]):
    """For `get_urls`, and for the views that stand there."""

    def address(self, route: str, view: Callable[..., Any], name: str, *, posted: bool = False) -> URLPattern:
        """Of a view, below the list's; it goes by the name of the model and its own. `posted`: nobody may just look."""
        wrapped = self.admin_site.admin_view(require_POST(view) if posted else view)
        return path(route, wrapped, name=f"{self.opts.app_label}_{self.opts.model_name}_{name}")

    def found(self, request: HttpRequest, object_id: str, *, may: bool) -> Any:
        """The record with this id, for who may do something about it. Raises PermissionDenied and Http404."""
        if not (may and self.has_view_permission(request)):
            raise PermissionDenied
        record = self.get_object(request, object_id)
        if record is None:
            raise Http404
        return record

    def page(self, request: HttpRequest, template: str, *, title: str, **shown: Any) -> HttpResponse:
        """A page of its own, within the admin's frame."""
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, template, {**frame, **shown})

    def acted(self, request: HttpRequest, record: Any, act: Callable[[], tuple[Any, str]]) -> HttpResponse:
        """Goes to the page of the record that the act is about then, whose top tells what was done, or why not."""
        try:
            record, done = act()
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.message_user(request, done)
        return HttpResponseRedirect(page_url(record))
