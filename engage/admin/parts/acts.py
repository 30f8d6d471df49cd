"""What the admin of records has beside lists and forms: acts, which are buttons of a record, and pages of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST

from engage.admin.parts.columns import page_url
from engage.audit.recording import change, record
from engage.errors import Refusal
from engage.models import AuditEntry


class Done(NamedTuple):
    """What an act has done: the record whose page comes next, what its top tells, and the audit's note if another.

    `noted` is None where nothing was left to do: then there is no entry.
    """

    record: Any
    says: str
    noted: str | None = ""


@dataclass(frozen=True, kw_only=True)
class Act:
    """What a button of a record's page does, posted to an address below it: `route`, or else the name.

    `may` says who may, by the admin and the request. `do` takes these, the record and what else stands in the route; it
    may raise a Refusal. It is one transaction with the entry in the audit, as which it is `noted_as`; None: it writes
    its entries itself, in transactions of its own. `asks`, with the same arguments, is the page that comes before it,
    until it returns None.
    """

    name: str
    may: Callable[[Any, HttpRequest], bool]
    do: Callable[..., Done]
    route: str = ""
    noted_as: AuditEntry.Action | None = AuditEntry.Action.CHANGED
    asks: Callable[..., HttpResponse | None] | None = None


class ActingAdmin(admin.ModelAdmin[Any]):
    """`acts` has the buttons of its records. The rest is for `get_urls`, and for the views that stand there."""

    acts: ClassVar[Sequence[Act]] = ()

    def get_urls(self) -> list[URLPattern]:
        addresses = [
            self.address(
                f"<str:object_id>/{act.route or act.name}/", partial(self._act, act), act.name, posted=act.asks is None
            )
            for act in self.acts
        ]
        return [*addresses, *super().get_urls()]

    def _act(self, act: Act, /, request: HttpRequest, object_id: str, **named: Any) -> HttpResponse:
        record = self.found(request, object_id, may=act.may(self, request))
        if act.asks and (page := act.asks(self, request, record, **named)):
            return page
        return self.acted(request, record, lambda: self._done(act, request, record, **named))

    def _done(self, act: Act, request: HttpRequest, about: Any, /, **named: Any) -> tuple[Any, str]:
        if act.noted_as is None:
            done = act.do(self, request, about, **named)
        else:
            with transaction.atomic():
                done = act.do(self, request, about, **named)
                if done.noted is not None:
                    record(change(act.noted_as, done.record, note=done.noted or done.says))
        return done.record, done.says

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
