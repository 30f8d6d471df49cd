"""What the server itself refuses, in the envelope that the service's own answers have."""

import json
import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it needs settings, which another application may not have
    from engage.http.envelope import Failure

_CODES = {
    HTTPStatus.BAD_REQUEST: ("Invalid request", "invalid_request"),
    HTTPStatus.REQUEST_TIMEOUT: ("Request timeout", "request_timeout"),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: ("Headers too large", "headers_too_large"),
    HTTPStatus.INTERNAL_SERVER_ERROR: ("Internal error", "internal_error"),
    HTTPStatus.NOT_IMPLEMENTED: ("Not implemented", "not_implemented"),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Service unavailable", "service_unavailable"),
}


class Refused(Exception):
    """A request that does not reach the application."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message

    def answer(self) -> tuple[str, list[tuple[str, str]], bytes]:
        """The status line, the headers and the body."""
        error, code = _CODES[self.status]
        request_id = uuid.uuid4().hex
        body: Failure = {
            "success": False,
            "error": error,
            "message": self.message,
            "code": code,
            "requestId": request_id,
        }
        headers = [("Content-Type", "application/json"), ("X-Request-Id", request_id)]
        if self.status == HTTPStatus.SERVICE_UNAVAILABLE:
            headers.append(("Retry-After", "1"))
        return f"{self.status.value} {self.status.phrase}", headers, json.dumps(body).encode()
