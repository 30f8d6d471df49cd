"""Refusals: the errors that the service answers with instead of doing what was asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NotRequired, Self, TypedDict

MOST_MISTAKES = 100  # that are told together; the others are counted


def shortened(text: str, *, to: int = 1_000) -> str:
    """What is wrong, which may quote what was sent at any length, in at most so many characters."""
    return text if len(text) <= to else f"{text[: to - 1]}…"


class FailureDetail(TypedDict):
    """One problem of several, or one of the customers in conflict, or where to go on."""

    field: Annotated[str, "The field."]
    place: NotRequired[Annotated[str, "Where that is in a definition, such as `steps[2].for`."]]
    message: NotRequired[Annotated[str, "What is wrong with it, as text."]]
    customerId: NotRequired[Annotated[str, "The id of the customer to whom the identifier belongs."]]
    after: NotRequired[Annotated[str, "What to send as `after` instead."]]


class Refusal(Exception):
    """One reason to refuse a call. Each reason is a subclass, beside the function that raises it.

    `error` is a short title, `code` its stable snake_case form for programs (or another one that the class gives), and
    the message says what to do about it: `says`, where it is always the same. Then the class is raised as it is.
    """

    status = 400
    error = "Invalid request"
    code = "invalid_request"
    says = ""
    sends: Mapping[str, str] = {}  # headers of its answer
    further: "Sequence[Refusal]" = ()  # the others that were found with it
    more = 0  # how many besides are only counted
    place = ""  # in a document, with which the message begins
    then: Callable[[], None] | None = None  # what is written once the call's own transaction has been rolled back

    def __init_subclass__(cls) -> None:
        if "error" in vars(cls) and "code" not in vars(cls):
            cls.code = cls.error.lower().replace(" ", "_")

    def __init__(
        self, message: str = "", *, details: Sequence[FailureDetail] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        self.message = message or self.says
        super().__init__(self.message)
        self.details = list(details)
        self.headers = {**self.sends, **(headers or {})}

    @property
    def remark(self) -> str:
        """The message as a sentence that stands beside the place: "It must not be blank."."""
        rest = self.message.removeprefix(self.place)
        if not self.place or rest == self.message:
            return self.message
        return rest.removeprefix(": ") if rest.startswith(": ") else f"It{rest}"

    def at(self, place: str) -> Self:
        """Itself, about this place in a document."""
        self.place = place
        return self

    def because(self, why: str) -> Self:
        """Itself, with one more sentence in its message."""
        self.message = f"{self.message} {why}"
        return self

    def all_found(self) -> "list[Refusal]":
        """Itself, and the others that were found with it; without those that are only counted."""
        return [self, *self.further]

    @property
    def and_more(self) -> str:
        """How many others are only counted, behind those that are told; or nothing."""
        return f" And {self.more:,} more." if self.more else ""

    def as_value(self) -> Self:
        """Itself, to be kept: without the frames in which it was raised, and so without the body that they hold."""
        self.__traceback__ = self.__context__ = None
        return self


class InvalidRequest(Refusal):
    """The request does not match what the API expects."""


class MissingParameter(Refusal):
    """A required parameter is missing."""

    error = "Missing required parameter"


class Unavailable(Refusal):
    """The database cannot be reached or could not finish the call; nothing is known to have been done. Try again."""

    status = 503
    error = "Service unavailable"
    sends = {"Retry-After": "1"}


class NotFound(Refusal):
    """There is nothing at this address."""

    status = 404
    error = "Not found"


class MethodNotAllowed(Refusal):
    """This address does not support the request's method."""

    status = 405
    error = "Method not allowed"


class UnsupportedMediaType(Refusal):
    """The body is not sent as application/json in UTF-8, plain or compressed with gzip."""

    status = 415
    error = "Unsupported media type"


class BodyTooLarge(Refusal):
    """The body is larger than this call accepts."""

    status = 413
    error = "Body too large"


class NotAcceptable(Refusal):
    """The caller does not accept application/json."""

    status = 406
    error = "Not acceptable"


class Forbidden(Refusal):
    """This is not allowed."""

    status = 403
    error = "Forbidden"
    says = "This is not allowed."


class InternalError(Refusal):
    """Something went wrong on the service's side."""

    status = 500
    error = "Internal error"
    says = "Something went wrong on our side. Nothing is known to have been done."
