"""The pages below /contact/. Whoever holds a message's link needs no login, no cookie and no token of forms.

GET and HEAD change nothing, because scanners follow links. A POST to a link for leaving acts at once, whatever its body
is (RFC 8058), and is answered 200 again and again. A link that is too old to show anything is answered alike whether
there is anybody or not.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import wraps
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.csrf import csrf_exempt

from customers.preferences import choices
from customers.preferences.choices import PAUSE, Chosen, Leaving, choose, chosen_by, leave
from customers.preferences.languages import Words, language_for
from customers.preferences.links import Link, link_of
from customers.preferences.shown import shown_of
from engage.errors import MethodNotAllowed
from engage.http.client_address import client_address
from engage.http.envelope import failure
from engage.http.limits import count_within

# Within the page, which so needs no other file: it is there also where static files were not collected.
_STYLE = (Path(__file__).parent / "page.css").read_text()
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_METHODS = ("GET", "HEAD", "POST")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


class _Visit(NamedTuple):
    """A request with a link that holds; `shows`: the page may show what is known of the person."""

    request: HttpRequest
    link: Link
    shows: bool

    @property
    def acts(self) -> bool:
        return self.request.method == "POST"

    def page(self, name: str, chosen: Chosen | None, **context: Any) -> HttpResponse:
        """The page of this name, or that there is nobody; of an old link one that is the same for all."""
        if not self.shows:
            return _page(self.request, "leave", said="old")
        if chosen is None:
            return _page(self.request, "message", said="nothing")
        accepted = self.request.headers.get("Accept-Language", "")
        return _page(self.request, name, shown_of(chosen, accepted=accepted, until=context.get("until")), **context)


def _with_link(view: Callable[[_Visit], HttpResponse]) -> Callable[..., HttpResponse]:
    """Has the view called with a link that is whole, by whoever does not come too often."""

    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest, token: str) -> HttpResponse:
        if request.method not in _METHODS:
            allowed = {"Allow": ", ".join(_METHODS)}
            return failure(MethodNotAllowed(f'Method "{request.method}" not allowed.', headers=allowed))
        if not count_within("contact", address=client_address(request), rate=settings.CONTACT_RATE_LIMIT):
            return _page(request, "message", said="too_many", status=HTTPStatus.TOO_MANY_REQUESTS)
        link = link_of(token)
        if link is None:
            return _page(request, "message", said="broken", status=HTTPStatus.NOT_FOUND)
        return view(_Visit(request, link, link.shows_at(timezone.now())))

    return guarded


@_with_link
def unsubscribe(visit: _Visit) -> HttpResponse:
    """Asks before it leaves what the message was about; a POST leaves it, and its body is not even read."""
    if visit.acts:
        return _left(visit, Leaving.MESSAGE)
    return visit.page("leave", chosen_by(visit.link))


@_with_link
def preferences(visit: _Visit) -> HttpResponse:
    """All choices; a POST has one of the acts of the page's forms, or is the one click of a mailbox."""
    if visit.acts:
        return _chosen(visit, visit.request.POST)
    return visit.page("choices", chosen_by(visit.link))


@_with_link
def confirm(visit: _Visit) -> HttpResponse:
    """Asks before it confirms what was requested; a POST does."""
    if not visit.link.topic:
        return _page(visit.request, "message", said="broken", status=HTTPStatus.NOT_FOUND)
    if visit.acts and visit.shows:
        return visit.page("choices", choices.confirm(visit.link), said="confirmed")
    return visit.page("confirm", chosen_by(visit.link))


def _chosen(visit: _Visit, form: QueryDict) -> HttpResponse:
    what = form.get("act", "")
    if "List-Unsubscribe" in form or not visit.shows:
        return _left(visit, Leaving.MESSAGE)
    if what in {Leaving.ALL.value, Leaving.FOR_A_WHILE.value}:
        return _left(visit, Leaving(what))
    if what not in {"save", "undo"}:
        return _page(visit.request, "message", said="not_understood", status=HTTPStatus.BAD_REQUEST)
    saves = what == "save"
    chosen = choose(
        visit.link,
        on=form.getlist("on"),
        shown=form.getlist("shown") if saves else (),
        weekly="weekly" in form if saves else None,
    )
    return visit.page("choices", chosen, said="saved")


def _left(visit: _Visit, what: Leaving) -> HttpResponse:
    chosen, left = leave(visit.link, what)
    if not visit.shows:
        return _page(visit.request, "message", said="left_all")
    if what is Leaving.FOR_A_WHILE:
        return visit.page("choices", chosen, said="paused", undo=left, until=timezone.now() + PAUSE)
    gone = what is Leaving.MESSAGE and chosen is not None and chosen.has_left_topic
    return visit.page("choices", chosen, said="left" if gone else "left_all", undo=left)


def _page(
    request: HttpRequest, name: str, shown: Mapping[str, Any] | None = None, *, said: str = "", **context: Any
) -> HttpResponse:
    """Without `shown`, in the language of the browser."""
    words = Words(language_for(None, request.headers.get("Accept-Language", "")))
    status = context.pop("status", HTTPStatus.OK)
    known = {"words": words, "style": mark_safe(_STYLE), **(shown or {}), **context}  # noqa: S308 (a file of ours)
    known["said"] = known["words"][said] if said else ""
    answer = render(request, f"customers/preferences/{name}.html", known, status=status)
    for header, value in _HEADERS.items():
        answer[header] = value
    return answer


urlpatterns = [
    path("contact/unsubscribe/<str:token>", unsubscribe),
    path("contact/preferences/<str:token>", preferences),
    path("contact/confirm/<str:token>", confirm),
]
