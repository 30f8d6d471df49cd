"""The JSON envelope of every answer, and the mapping from exceptions to it."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Any, Generic, Literal, NotRequired, Self, TypedDict, TypeVar, cast

import structlog
from django.core.exceptions import DisallowedHost, PermissionDenied, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.utils import timezone
from psycopg.errors import DeadlockDetected, ForeignKeyViolation
from rest_framework import exceptions
from rest_framework.utils.encoders import JSONEncoder

from engage.credentials.sealed import UnknownEncryptionKey
from engage.database.outages import is_held_up, is_not_set_up, is_outage
from engage.errors import (
    MOST_MISTAKES,
    FailureDetail,
    Forbidden,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    Refusal,
    Unavailable,
    UnsupportedMediaType,
    shortened,
)
from engage.http.near_misses import call_meant_by
from engage.json.compact import json_bytes
from engage.json.keywords import Keywords
from engage.notations.sizes import KIB
from engage.process.request_log import current_request_id, current_workspace_id
from engage.redis.metric_counters import REFUSALS, WORKSPACE_REFUSALS, metric_counters

log = structlog.get_logger(__name__)


class KeyMissing(Unavailable):
    """What the call needs cannot be decrypted; others may succeed."""

    def __init__(self) -> None:
        super().__init__(
            "What this needs cannot be decrypted, because ENCRYPTION_KEYS lacks its key. Nothing was done; try again "
            "once the key is there."
        )


Data = TypeVar("Data")
_LONGEST_HOST = 255
_LONGEST_MESSAGE = 5_000  # characters; one may be six bytes of JSON
_MOST_OF_DETAILS = 64 * KIB
_BROKE_OFF = "The body broke off before its end. Nothing was done."
_NOT_UNDERSTOOD = "The request could not be understood."


class Success(TypedDict, Generic[Data]):
    """The call was done, and its result is committed."""

    success: Literal[True]
    message: Annotated[str, "What was done, as text."]
    data: Data


class Failure(TypedDict):
    """The call was refused or failed."""

    success: Literal[False]
    error: Annotated[str, "A short title."]
    message: Annotated[str, "What is wrong, as text: the field, what it must be and what was sent."]
    code: Annotated[str, "A stable code for the error, for use in programs."]
    requestId: Annotated[
        str, "The id of the request, as in the header X-Request-Id. Quote it when you ask for support."
    ]
    details: NotRequired[
        Annotated[
            list[FailureDetail],
            "Each problem, with its `field`; of very many the first. Present if there are several, and for identifier "
            "conflicts, which also have a `customerId`.",
            Keywords(minItems=1, maxItems=MOST_MISTAKES),
        ]
    ]


_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class JsonAnswer(HttpResponse):
    """An answer in JSON. It is written at once: REST framework's own is begun twice, and written after its view."""

    def __init__(
        self, body: Mapping[str, Any], *, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(_as_json(body), content_type="application/json", status=status, headers=headers)
        self.body = body

    def with_data(self, **more: Any) -> Self:
        """Itself, with this added to its `data`."""
        self.body = {**self.body, "data": {**self.body["data"], **more}}
        self.content = _as_json(self.body)
        return self


def _as_json(body: Any) -> bytes:
    """In UTF-8, without the two letters that end a line in JavaScript."""
    return _ENCODER.encode(body).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode()


def success(message: str, data: Mapping[str, Any], *, status: int = HTTPStatus.OK) -> JsonAnswer:
    """The answer to a call that was done; `data` is in the interface's spelling."""
    body: Success[Mapping[str, Any]] = {"success": True, "message": message, "data": data}
    return JsonAnswer(body, status=status)


def failure(refusal: Refusal) -> JsonAnswer:
    """The answer to a call that was refused."""
    _count(refusal)
    return JsonAnswer(failure_body(refusal), status=refusal.status, headers=refusal.headers)


def _count(refusal: Refusal) -> None:
    """By its code, and for the day by the workspace, if one is known: that of a key or app, never a caller's word."""
    metric_counters.count(REFUSALS, refusal.code)
    if workspace_id := current_workspace_id():
        metric_counters.count(WORKSPACE_REFUSALS, timezone.now().date().isoformat(), workspace_id, refusal.code)


def failure_body(refusal: Refusal) -> Failure:
    """The refusal in the envelope, with the id of the request being served."""
    details = _bounded(refusal.details)
    more = refusal.more + len(refusal.details) - len(details)
    if refusal.more and not details:
        more += len(refusal.further)  # the message tells of one
    body: Failure = {
        "success": False,
        "error": refusal.error,
        "message": shortened(refusal.message, to=_LONGEST_MESSAGE) + (f" And {more:,} more." if more else ""),
        "code": refusal.code,
        "requestId": current_request_id(),
    }
    if details:
        body["details"] = details
    return body


def _bounded(details: Sequence[FailureDetail]) -> list[FailureDetail]:
    """The first of the mistakes, which may be as many and as long as somebody makes them."""
    told, left = [], _MOST_OF_DETAILS
    for one in details[:MOST_MISTAKES]:
        short = cast("FailureDetail", {name: shortened(str(text)) for name, text in one.items()})
        left -= json_bytes(short)
        if left < 0:
            break
        told.append(short)
    return told


def answer_exception(exception: Exception, context: Mapping[str, Any]) -> JsonAnswer:
    """DRF's exception handler: answers any exception of a view as JSON."""
    refusal = as_refusal(exception)
    if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _note_failure(refusal, exception)
    if refusal.then:
        with suppress(DatabaseError, InterfaceError):  # what it tells of was refused all the same
            refusal.then()
    return failure(refusal)


def _note_failure(refusal: Refusal, exception: BaseException | None) -> None:
    log.error("request_failed", error=refusal.code, exc_info=exception)


def as_refusal(exception: Exception) -> Refusal:
    """The refusal to answer with for this exception."""
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
            return Forbidden()
        case SuspiciousOperation() | UnreadablePostError():
            return InvalidRequest(_BROKE_OFF if isinstance(exception, OSError) else _NOT_UNDERSTOOD)
        case DatabaseError() | InterfaceError() | UnknownEncryptionKey():
            return _refusal_of_storage(exception)
        case _:
            return InternalError()


def _refusal_of_storage(error: DatabaseError | InterfaceError | UnknownEncryptionKey) -> Refusal:
    match error.__cause__:
        case _ if isinstance(error, UnknownEncryptionKey):
            return KeyMissing()
        case DeadlockDetected():
            why = "Another call was changing the same things at this moment. Nothing was done; try again."
        case ForeignKeyViolation():
            why = "Something that the call refers to was deleted at this moment. Nothing was done; try again."
        case _ if is_outage(error):
            why = (
                "The database cannot be reached at the moment. Nothing is known to have been done; try again. "
                "With an Idempotency-Key it is done once in any case."
            )
        case _ if is_held_up(error):
            why = "Something that the call needs was locked by others for too long. Nothing was done; try again."
        case _ if is_not_set_up(error):
            why = "The database is not set up for this version of the service. Nothing was done; try again later."
        case _ if isinstance(error, OperationalError):
            why = "The database could not finish the call. Nothing was done; try again."
        case _:
            return InternalError()
    return Unavailable(why)


# Django's own handlers, for requests that fail outside DRF's views -------------------------------------------------


def answer_bad_request(request: HttpRequest, exception: Exception) -> JsonAnswer:
    if isinstance(exception, DisallowedHost):
        log.warning("host_not_allowed", host=request.headers.get("Host", "")[:_LONGEST_HOST])
    return failure(InvalidRequest(_NOT_UNDERSTOOD))


def answer_forbidden(request: HttpRequest, exception: Exception) -> JsonAnswer:
    return failure(Forbidden())


def answer_not_found(request: HttpRequest, exception: Exception) -> JsonAnswer:
    meant = call_meant_by(request.path)
    hint = f" Is {meant} meant{', without a slash at its end' * request.path.endswith('/')}?" if meant else ""
    return failure(NotFound(f"There is nothing at this address.{hint}"))


def answer_server_error(request: HttpRequest) -> JsonAnswer:
    return failure(note_failure_at_hand())


def note_failure_at_hand() -> Unavailable | InternalError:
    """The refusal for the exception that Django is handling. Logs the exception, because nothing else does."""
    exception = sys.exc_info()[1]
    found = as_refusal(exception) if isinstance(exception, DatabaseError | InterfaceError) else None
    refusal = found if isinstance(found, Unavailable) else InternalError()
    _note_failure(refusal, exception)
    return refusal
