"""What staff do beside adding, changing and deleting: an `Act` is declared once, and draws the buttons that lead to it.

acts = (Act("resume", _resume, button=lambda one, _: [Button("Resume")] if one.paused_at else []),)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum, auto
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.decorators import display

from engage.admin.parts.columns import page_url
from engage.audit.recording import change, record
from engage.errors import Refusal
from engage.models import AuditEntry

May = Callable[[Any, HttpRequest], bool]


class Done(NamedTuple):
    """What an act has done: the record whose page comes next, what its top tells, and the audit's note if another.

    `noted` is None where nothing was left to do: then there is no entry.
    """

    record: Any
    says: str
    noted: str | None = ""


@dataclass(frozen=True, kw_only=True)
class Input:
    """What is sent along with a button: typed, chosen among `options` (a value and what it is called), or hidden."""

    name: str
    value: str = ""
    label: str = ""
    options: Sequence[tuple[str, str]] = ()
    at_most: int | None = None
    placeholder: str = ""
    look: str = ""
    hidden: bool = False
    required: bool = False


@dataclass(frozen=True)
class Button:
    """How an act is drawn. `asks` is confirmed before anything is sent; `look` is first, danger or small.

    `route` has what stands in the act's address beside the record. What is `more` stands in a menu of that name.
    """

    label: str
    asks: str = ""
    look: str = ""
    inputs: Sequence[Input] = ()
    route: Mapping[str, str] = field(default_factory=dict)
    called: str = ""
    more: bool = False
    tab: str = ""


class Place(StrEnum):
    """Where the buttons stand: on a record's page or list, in each row of the list, or at its right-hand top."""

    ABOVE = auto()
    BELOW = auto()
    ROW = auto()
    TOOLS = auto()


class Drawn(NamedTuple):
    """A button with its address. `opens`: it is a link."""

    button: Button
    href: str
    opens: bool


def may_change(model_admin: Any, request: HttpRequest) -> bool:
    return bool(model_admin.has_change_permission(request))


def may_add(model_admin: Any, request: HttpRequest) -> bool:
    return bool(model_admin.has_add_permission(request))


def may_look(model_admin: Any, request: HttpRequest) -> bool:
    return bool(model_admin.has_view_permission(request))


def permitted(right: str) -> May:
    """Whoever has this permission."""
    return lambda _, request: bool(request.user.has_perm(right))


@dataclass(frozen=True)
class Act:
    """What is done at an address below a record's, or if `of_list` below the list's: `route`, or else its name.

    `may` says who may, by the admin and the request. `do` takes these, the record and what else stands in the route; it
    may raise a Refusal. It is one transaction with the entry in the audit, as which it is `noted_as`; None: it writes
    its entries itself, in transactions of its own, and may answer with a page. `asks`, with the same arguments, is the
    page that comes before it, until it returns None. An act is posted unless it asks, or `opens` a page.

    Without `do`, it is Django's page of this name. `button` draws it, by the record (None: of the list) and the
    request; None: what else leads to it is a page's own.
    """

    name: str
    do: Callable[..., Done | HttpResponseBase] | None = None
    _: KW_ONLY
    may: May = may_change
    route: str = ""
    of_list: bool = False
    opens: bool = False
    noted_as: AuditEntry.Action | None = AuditEntry.Action.CHANGED
    asks: Callable[..., HttpResponse | None] | None = None
    button: Button | Callable[[Any, HttpRequest], Iterable[Button]] | None = None
    place: Place = Place.ABOVE

    @property
    def is_posted(self) -> bool:
        return not self.opens and self.asks is None

    def drawn(self, model_admin: Any, record: Any, request: HttpRequest) -> list[Drawn]:
        """Its buttons of this record, for who may press them."""
        if self.button is None or not self.may(model_admin, request):
            return []
        buttons = [self.button] if isinstance(self.button, Button) else self.button(record, request)
        name, of = f"admin:{model_admin.named(self.name)}", [] if self.of_list else [quote(record.pk)]
        narrowed = f"?{request.GET.urlencode()}" if self.place is Place.TOOLS and request.GET else ""
        return [
            Drawn(one, reverse(name, args=[*of, *one.route.values()]) + narrowed, not self.is_posted) for one in buttons
        ]


class ActingAdmin(admin.ModelAdmin[Any]):
    """`acts` has what is done to its records and its list, and all pages beside Django's own."""

    acts: ClassVar[Sequence[Act]] = ()

    def get_urls(self) -> list[URLPattern]:
        return [*(self._address(act) for act in self.acts if act.do), *super().get_urls()]

    def named(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"

    def _address(self, act: Act) -> URLPattern:
        view: Any = partial(self._act, act)
        wrapped = self.admin_site.admin_view(require_POST(view) if act.is_posted else view)
        below = "" if act.of_list else "<str:object_id>/"
        address: URLPattern = path(
            f"{below}{act.route or act.name.replace('_', '-')}/", wrapped, name=self.named(act.name)
        )
        return address

    def _act(self, act: Act, /, request: HttpRequest, object_id: str | None = None, **named: Any) -> HttpResponseBase:
        record = self.found(request, object_id, may=act.may(self, request))
        if act.asks and (page := act.asks(self, request, record, **named)):
            return page
        try:
            done = self._done(act, request, record, **named)
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            if isinstance(done, HttpResponseBase):
                return done
            self.message_user(request, done.says)
            record = done.record
        return HttpResponseRedirect(page_url(record) if record else reverse(f"admin:{self.named('changelist')}"))

    def _done(self, act: Act, request: HttpRequest, about: Any, /, **named: Any) -> Done | HttpResponseBase:
        assert act.do is not None
        if act.noted_as is None or act.opens:
            return act.do(self, request, about, **named)
        with transaction.atomic():
            done = act.do(self, request, about, **named)
            if isinstance(done, Done) and done.noted is not None:
                record(change(act.noted_as, done.record, note=done.noted or done.says))
        return done

    def found(self, request: HttpRequest, object_id: str | None, *, may: bool) -> Any:
        """The record with this id, for who may do something about it. Raises PermissionDenied and Http404."""
        if not may or (object_id is not None and not self.has_view_permission(request)):
            raise PermissionDenied
        record = None if object_id is None else self.get_object(request, object_id)
        if record is None and object_id is not None:
            raise Http404
        return record

    def page(self, request: HttpRequest, template: str, *, title: str, **shown: Any) -> HttpResponse:
        """A page of its own, within the admin's frame."""
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, template, {**frame, **shown})

    def drawn(self, request: HttpRequest, record: Any = None) -> dict[str, list[Drawn]]:
        """The buttons of a record's page, or of the list, by their places."""
        found: dict[str, list[Drawn]] = {place: [] for place in Place}
        for act in self.acts:
            if act.place is not Place.ROW and act.of_list is (record is None):
                found[act.place] += act.drawn(self, record, request)
        return found

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        shown: Any = {"acts": self.drawn(request), **(extra_context or {})}
        return super().changelist_view(request, shown)

    def columns_of_acts(self, request: HttpRequest) -> list[Callable[[Any], SafeString]]:
        """The column of the list in which each row has its buttons, if there are any."""
        in_rows = [act for act in self.acts if act.place is Place.ROW and act.may(self, request)]

        @display(description="")
        def acts(one: Any) -> SafeString:
            buttons = [drawn for act in in_rows for drawn in act.drawn(self, one, request)]
            return render_to_string("engage/admin/acts_in_row.html", {"acts": buttons})

        return [acts] if in_rows else []
