"""`/demo`: in-app messages on a page like any other, and beside them what the service has recorded of them.

For development alone: it shows what people did, and anybody who reaches it may look.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin

from bridge.models import Interaction
from config.local.demo import read_demo
from config.local.offer import MESSAGE, token_of
from engage.http.views import only_read
from engage.json.instants import iso_utc

_MESSAGES = ("demo-banner", "demo-modal", "demo-form", "demo-frame", MESSAGE)
_SHOWN = 12
# As strict as a page can be: no inline script or style, and no text becomes markup.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'"
)

_View = Callable[[HttpRequest], HttpResponse]


def _for_development(view: _View) -> _View:
    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        if settings.PRODUCTION:
            raise Http404
        return view(request)

    return only_read(never_cache(guarded))


@_for_development
def page(request: HttpRequest) -> HttpResponse:
    """The page with the messages."""
    return _shown(request, "config/demo.html", {"app": _app()})


@_for_development
@xframe_options_sameorigin
def framed(request: HttpRequest) -> HttpResponse:
    """The message that the page has in a sandboxed frame."""
    return _shown(request, "config/demo_framed.html", {})


@_for_development
def recorded(request: HttpRequest) -> HttpResponse:
    """What people last did in the page's messages, newest first."""
    known = read_demo()
    newest = Interaction.objects.filter(
        workspace=known["workspace"]["workspaceId"] if known else None, app=_app(), message_id__in=_MESSAGES
    ).select_related("customer", "event")
    return JsonResponse({"recorded": [_told(one) for one in newest.order_by("-id")[:_SHOWN]]})


@_for_development
def token(request: HttpRequest) -> HttpResponse:
    """What proves on this page who is logged in; a page's own server would ask for a password first."""
    return HttpResponse(token_of(_app()), content_type="text/plain")


def _app() -> str:
    """The demo's app. Raises Http404 where `make run` has made none."""
    known = read_demo()
    if known is None:
        raise Http404
    return known["workspace"]["apps"]["web"]


def _shown(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    answer = render(request, template, context)
    answer["Content-Security-Policy"] = _POLICY
    return answer


def _told(one: Interaction) -> dict[str, Any]:
    return {
        "id": one.id,
        "at": iso_utc(one.created_at),
        "messageId": one.message_id,
        "kind": one.kind,
        "person": str(one.customer),
        "event": one.event.name if one.event else None,
        "values": one.event.properties if one.event else one.form_data,
        "attributes": one.attributes_written,
    }


urlpatterns = [
    path("demo", page),
    path("demo/framed", framed),
    path("demo/recorded", recorded),
    path("demo/token", token),
]
