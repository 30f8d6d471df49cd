"""`If-Match` and `If-None-Match` (RFC 9110): what of something a caller has seen, by its ETag.

Tags are compared weakly in both: a proxy that compresses an answer makes its tag a weak one.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Self, TypeVar

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from engage.errors import Refusal

_Answer = TypeVar("_Answer", bound=HttpResponseBase)
_KEPT = ("ETag", "Vary", "Cache-Control", "Access-Control-Allow-Origin")  # of an answer, in a 304 in its place


class PreconditionRequired(Refusal):
    """What is there is changed, or deleted, only by a call that names the version that it has seen."""

    status = 428
    error = "Precondition required"
    says = "This changes what is there. Read it, and send its ETag in the header If-Match."


class PreconditionFailed(Refusal):
    """What is there is another than the call expects; nothing was changed."""

    status = 412
    error = "Precondition failed"
    says = "It has changed since: its ETag is another one than that in If-Match. Read it again."


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The two headers of a call, as they were sent."""

    if_match: str | None = None
    if_none_match: str | None = None

    @classmethod
    def by(cls, request: HttpRequest) -> Self:
        sent = request.META.get
        return cls(if_match=sent("HTTP_IF_MATCH"), if_none_match=sent("HTTP_IF_NONE_MATCH"))

    def require_unseen(self, etag: str = "*") -> None:
        """Raises PreconditionFailed if what is there (by its ETag, if it has one) is what must not be there."""
        if is_named(etag, self.if_none_match):
            raise PreconditionFailed("It is there, and If-None-Match says that it must not be. Nothing was changed.")

    def require_seen(self, etag: str, *, demanded: bool = True) -> None:
        """Raises PreconditionFailed if another was seen, PreconditionRequired if none was and one is `demanded`."""
        if self.if_match is None and demanded:
            raise PreconditionRequired
        if self.if_match is not None and not is_named(etag, self.if_match):
            raise PreconditionFailed


def is_named(etag: str, header: str | None) -> bool:
    """Whether a header, of one tag or several or `*`, means what has this ETag. None: there is no header."""
    sent = {one.strip().removeprefix("W/") for one in (header or "").split(",")}
    return not sent.isdisjoint({"*", etag})


def unless_known(request: HttpRequest, answer: _Answer) -> _Answer | HttpResponse:
    """The answer to what is read; where it has an ETag that the caller has named, 304 in its place."""
    if "ETag" not in answer or not is_named(answer["ETag"], request.META.get("HTTP_IF_NONE_MATCH")):
        return answer
    kept = {name: answer[name] for name in _KEPT if name in answer}
    return HttpResponse(status=HTTPStatus.NOT_MODIFIED, headers=kept)
