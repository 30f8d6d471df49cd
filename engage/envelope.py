"""The only JSON shapes that the service answers with, and the way from an exception to one of them."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from engage.errors import (
    Forbidden,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    Refusal,
    Unavailable,
    UnsupportedMediaType,
)
from engage.request_log import current_request_id

log = structlog.get_logger(__name__)


def success(message: str, data: Mapping[str, Any], *, status: int = HTTPStatus.OK) -> Response:
    """`{"success": true, "message", "data"}`."""
    return Response({"success": True, "message": message, "data": data}, status=status)


def failure(refusal: Refusal) -> Response:
    """`{"success": false, "error", "message", "code", "requestId"}`, and `details` where there are any."""
    return Response(failure_body(refusal), status=refusal.status, headers=refusal.headers)


def failure_body(refusal: Refusal) -> dict[str, Any]:
    body: dict[str, Any] = {
        "success": False,
        "error": refusal.error,
        "message": refusal.message,
        "code": refusal.code,
        "requestId": current_request_id(),
    }
    if refusal.details:
        body["details"] = refusal.details
    return body


def answer_exception(exception: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's exception handler: whatever a view raises leaves as JSON."""
    refusal = _as_refusal(exception)
    if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("request_failed", error=refusal.code, exc_info=exception)
    return failure(refusal)


def _as_refusal(exception: Exception) -> Refusal:
    match exception:
        case Refusal():
            return exception
        case exceptions.MethodNotAllowed():
            return MethodNotAllowed(str(exception.detail))
        case exceptions.UnsupportedMediaType():
            return UnsupportedMediaType("The body must be sent as application/json.")
        case exceptions.NotAcceptable():
            return NotAcceptable("The service answers in application/json only.")
        case exceptions.APIException(status_code=400):
            return InvalidRequest(str(exception.detail))
        case Http404():
            return NotFound("There is nothing at this address.")
        case PermissionDenied():
            return Forbidden("This is not allowed.")
        case OperationalError() | InterfaceError():
            return Unavailable(
                "The database cannot be reached at the moment. Nothing was done; try again.",
                headers={"Retry-After": "1"},
            )
        case _:
            return InternalError("Something went wrong on our side. Nothing is known to have been done.")


# Django's own handlers, for what never reaches a view --------------------------------------------------------------


def _plain(refusal: Refusal) -> JsonResponse:
    return JsonResponse(failure_body(refusal), status=refusal.status)


def answer_bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    return _plain(InvalidRequest("The request could not be understood."))


def answer_forbidden(request: HttpRequest, exception: Exception) -> JsonResponse:
    return _plain(Forbidden("This is not allowed."))


def answer_not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    return _plain(NotFound("There is nothing at this address."))


def answer_server_error(request: HttpRequest) -> JsonResponse:
    return _plain(InternalError("Something went wrong on our side."))
