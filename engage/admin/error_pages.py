"""Answers to requests that are bad, not found, not allowed or failed: a page in the admin, JSON elsewhere."""

from http import HTTPStatus

import structlog
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from engage.audit.recording import Change
from engage.audit.refusals import record_refusal
from engage.errors import Unavailable
from engage.http import envelope
from engage.models import AuditEntry
from engage.process.middleware import Middleware
from engage.process.request_log import current_request_id

log = structlog.get_logger(__name__)


def answer_bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_staff_in_the_admin(request):
        return envelope.answer_bad_request(request, exception)
    why = "The address or the form asks for something that this page does not offer, such as another filter."
    return _page(request, HTTPStatus.BAD_REQUEST, "Not understood", why)


def answer_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_staff_in_the_admin(request):
        return envelope.answer_not_found(request, exception)
    return _page(request, HTTPStatus.NOT_FOUND, "Not found", "There is nothing at this address.")


def answer_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_in_the_admin(request):
        return envelope.answer_forbidden(request, exception)
    if not _is_staff_in_the_admin(request):  # whoever has followed a link that holds no more
        login = {"again": reverse("admin:login"), "try_again": "To the login"}
        context = {"title": "Not allowed", "why": str(exception), "request_id": current_request_id(), **login}
        return render(request, "engage/admin/failure.html", context, status=HTTPStatus.FORBIDDEN)
    why = str(exception) or "Your account may not do this. An administrator can grant it."
    refused = f"{request.method} {request.path}"
    record_refusal(
        Change(action=AuditEntry.Action.REFUSED, workspace_id=None, kind="page", named=refused, note=str(exception))
    )
    return _page(request, HTTPStatus.FORBIDDEN, "Not allowed", why)


def answer_out_of_date(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The answer to a form with a wrong CSRF token. It needs no login, because the sender may be logged out by now."""
    if not _is_in_the_admin(request):
        return envelope.answer_forbidden(request, PermissionDenied(reason))
    log.warning("form_refused", reason=reason, origin=request.headers.get("Origin"))
    opened = request.headers.get("Referer", "")
    from_elsewhere = reason.startswith(("Origin checking failed", "Referer checking failed"))
    behind_a_proxy = " Behind a proxy, CSRF_TRUSTED_ORIGINS has to name the origin in the browser's address bar."
    context = {
        "title": "This page is out of date",
        "why": "Nothing was done. Since the page was opened, somebody logged in or out in this browser, or the browser "
        "keeps no cookies. Load the page again, and enter once more what you entered. "
        f"The reason: {reason}{behind_a_proxy if from_elsewhere else ''}",
        "again": opened if url_has_allowed_host_and_scheme(opened, {request.get_host()}) else request.get_full_path(),
        "try_again": "Load it again",
        "request_id": current_request_id(),
    }
    return render(request, "engage/admin/failure.html", context, status=HTTPStatus.FORBIDDEN)


def answer_server_error(request: HttpRequest) -> HttpResponse:
    if not _is_in_the_admin(request):
        return envelope.answer_server_error(request)
    refusal = envelope.note_failure_at_hand()
    match refusal:
        case envelope.KeyMissing():
            why = refusal.message
        case Unavailable():
            why = "The database does not answer at the moment. Nothing is known to have been done; try again."
        case _:
            why = "Something went wrong on our side. The log tells what it was."
    # Without the admin's frame, which queries the database for the user.
    context = {"title": refusal.error, "why": why, "request_id": current_request_id()}
    page = render_to_string("engage/admin/failure.html", context)
    return HttpResponse(page, status=refusal.status, headers=refusal.headers)


class UnusableValueMiddleware(Middleware):
    """Answers 400 if staff sent a value that no column can hold: a NUL character, or a number out of range.

    Forms check for that themselves, but values in a URL reach the database unchecked.
    """

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, DataError) or not _is_staff_in_the_admin(request):
            return None
        log.warning("unusable_value", exc_info=exception)
        why = "What was sent holds a value that cannot be stored or looked for, such as a NUL character."
        return _page(request, HTTPStatus.BAD_REQUEST, "Not understood", why)


def _is_staff_in_the_admin(request: HttpRequest) -> bool:
    """Also for a request that was refused, for its host, before it was known who sent it."""
    return _is_in_the_admin(request) and hasattr(request, "user") and admin.site.has_permission(request)


def _is_in_the_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))


def _page(request: HttpRequest, status: HTTPStatus, title: str, why: str) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": title, "why": why}
    return render(request, "engage/admin/error_page.html", context, status=status)
