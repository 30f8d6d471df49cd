"""The failures that calls have in common, beside those of their own."""

from collections.abc import Sequence

from django.core.exceptions import DisallowedHost
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions

from engage.errors import InvalidRequest, Refusal
from engage.http.authentication import (
    KEY_LEAKED,
    KEY_NOT_VALID,
    InvalidAppId,
    NetworkNotAllowed,
    OriginNotAllowed,
    Unauthorized,
)
from engage.http.envelope import as_refusal
from engage.http.idempotency import IdempotencyKeyReused, RequestInProgress
from engage.http.inflation import GZIP_TOO_SHORT, InvalidGzip
from engage.http.limits import AppQuotaExceeded, Quota, RateLimitExceeded, Usage
from engage.http.parsing import body_too_large
from engage.http.views import JourneyNotAllowed
from engage.json.storable import InvalidJson
from engage.notations.sizes import MAX_BODY_BYTES
from engage.scopes import Scope, ScopeMissing

Refusals = Sequence[Refusal]

OF_EVERY_CALL: Refusals = (
    RateLimitExceeded(
        Usage(policy="trigger", limit=100, window_seconds=60, remaining=0, seconds_left=18, resets_at=1_795_349_663)
    ),
    as_refusal(DisallowedHost()),
    as_refusal(exceptions.NotAcceptable()),
    as_refusal(OperationalError()),
    as_refusal(Exception()),
)
OF_A_BODY: Refusals = (
    InvalidRequest("external_id must be a string, but a number came."),
    InvalidJson("The body is not JSON: Expecting ',' delimiter at line 3, column 5."),
    InvalidGzip(GZIP_TOO_SHORT),
    as_refusal(exceptions.UnsupportedMediaType("text/plain")),
    body_too_large(MAX_BODY_BYTES),
)
OF_AN_IDEMPOTENCY_KEY: Refusals = (RequestInProgress(), IdempotencyKeyReused())
SERVER_REFUSALS: Refusals = (
    Unauthorized(KEY_NOT_VALID),
    NetworkNotAllowed("198.51.100.7"),
    ScopeMissing(Scope.TRIGGER),
    JourneyNotAllowed("6b00b1b1aa4223798a14fee8"),
    as_refusal(Http404()),
)
OF_AN_SDK: Refusals = (
    InvalidRequest(KEY_LEAKED),
    InvalidAppId(),
    OriginNotAllowed("https://elsewhere.example"),
    AppQuotaExceeded(Quota.CALLS),
)


def failures_in_words() -> str:
    """A Markdown table of them, one line for each code."""
    refusals = (*OF_EVERY_CALL, *OF_A_BODY, *OF_AN_IDEMPOTENCY_KEY, *SERVER_REFUSALS, *OF_AN_SDK)
    kinds = sorted({type(refusal) for refusal in refusals}, key=lambda kind: (kind.status, kind.code))
    lines = [f"| {kind.status} | `{kind.code}` | {kind.error} | {kind.__doc__} |" for kind in kinds]
    return "\n".join(["| Status | `code` | `error` | Meaning |", "|---|---|---|---|", *lines])
