"""A refusal: what the service answers instead of doing what was asked."""

from collections.abc import Mapping, Sequence
from typing import Any


class Refusal(Exception):
    """One reason not to do what was asked; a subclass per reason, beside the function that raises it.

    `error` is the short title of the interface, `code` its stable snake_case form for programs, the message says what
    to do about it.
    """

    status = 400
    error = "Invalid request"
    code = "invalid_request"

    def __init__(
        self, message: str, *, details: Sequence[Mapping[str, Any]] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = list(details)
        self.headers = dict(headers or {})


class InvalidRequest(Refusal):
    """The request is not what the interface asks for."""


class MissingParameter(Refusal):
    """Something without which the call means nothing is absent."""

    error = "Missing required parameter"
    code = "missing_required_parameter"


class Unavailable(Refusal):
    """PostgreSQL cannot be reached; nothing is known to have been done."""

    status = 503
    error = "Service unavailable"
    code = "service_unavailable"


class NotFound(Refusal):
    """No call has this address."""

    status = 404
    error = "Not found"
    code = "not_found"


class MethodNotAllowed(Refusal):
    """The address knows other methods than this one."""

    status = 405
    error = "Method not allowed"
    code = "method_not_allowed"


class UnsupportedMediaType(Refusal):
    """The body is not sent as application/json in UTF-8, plain or packed with gzip."""

    status = 415
    error = "Unsupported media type"
    code = "unsupported_media_type"


class BodyTooLarge(Refusal):
    """The body is larger than the call reads."""

    status = 413
    error = "Body too large"
    code = "body_too_large"


class NotAcceptable(Refusal):
    """The caller takes no application/json for an answer."""

    status = 406
    error = "Not acceptable"
    code = "not_acceptable"


class Forbidden(Refusal):
    """This is not allowed."""

    status = 403
    error = "Forbidden"
    code = "forbidden"


class InternalError(Refusal):
    """Something went wrong on the service's side."""

    status = 500
    error = "Internal error"
    code = "internal_error"
