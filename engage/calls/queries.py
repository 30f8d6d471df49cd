"""Query strings as typed objects: a frozen dataclass says which parameters a call takes. None may be repeated."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from django.http import QueryDict
from rest_framework.request import Request

from engage.errors import InvalidRequest, Refusal
from engage.http.paging import BothPlaces, InvalidAfter, InvalidCursor, place_of
from engage.http.query_strings import is_true, single_value, whole_number
from engage.json.fields import Member, Parsed, Whole, is_choice, members
from engage.json.mistakes import none_of, not_whole, unknown
from engage.json.storable import unstorable

Shape = TypeVar("Shape")
DRY_RUN_MESSAGE = "A dry run: this is what the call would do. Nothing was changed."
# What such parameters are, in words.
LIMIT = "The maximum number of items to return."
CURSOR = "The same as `after`."
AFTER = "The `next` of the previous page. Omit it for the first page."
_NO_LETTERS = re.compile(r"[^A-Za-z]")
# The calls of 1.0.0: their clients may send what these never looked at. Its lists are not spared.
_TOLERANT = frozenset({
    "abortJourney", "activateJourney", "cancelJob", "cancelTrigger", "captureForm", "changeSegmentMembers",
    "closeJourney", "deleteMessage", "eraseCustomer", "exitEnrollment", "exportCustomer", "findCustomer",
    "getCustomer", "getJob", "getJourneyGraph", "getJourneyStats", "getMe", "getMessage", "getTrigger",
    "holdJourney", "identify", "mergeCustomers", "putCustomer", "putCustomers", "putMessage", "recordAction",
    "recordCalls", "reportEvents", "resumeJourney", "triggerJourney",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """For calls that can be rehearsed."""

    dry_run: Annotated[
        bool, "`true` to learn what the call would do. Nothing is changed. Without it, the call is carried out."
    ] = False


@dataclass(frozen=True, kw_only=True)
class PageQuery:
    """Which page of a list whose places are texts."""

    limit: Annotated[int, LIMIT, Whole(most=200)] = 50
    after: Annotated[str | None, AFTER, place_of(str)] = None


BAD_DRY_RUN = InvalidRequest("dryRun must be true or false, not 'yes'.")


class UnknownParameter(InvalidRequest):
    """The query string holds a name that the call does not know. Ignored, a misspelt filter would answer everybody."""

    code = "unknown_parameter"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{name[:100]} {unknown(known)}")


def is_tolerant(operation_id: str) -> bool:
    """Whether the call ignores what it does not know in its query string: a call of 1.0.0 that lists nothing."""
    return operation_id in _TOLERANT


def require_known(query: QueryDict, known: Sequence[str]) -> None:
    """Raises UnknownParameter for the first name that is not among the known ones."""
    for name in query:
        if name not in known:
            raise UnknownParameter(name, known)


def read_query(shape: type[Shape], query: QueryDict) -> Shape:
    """The typed object in a query string. Raises InvalidRequest, or what a parser does.

    A class whose parameters belong together reads them itself, with `of_query`.
    """
    if of_query := getattr(shape, "of_query", None):
        return cast("Shape", of_query(query))
    if issubclass(shape, DryRun):
        _refuse_other_spellings(query)
    given = {member.name: _value(member, query) for member in members(cast("Any", shape))}
    return shape(**{name: value for name, value in given.items() if value is not None})


def is_dry_run(request: Request) -> bool:
    """Whether the call changes nothing: it may be repeated at will, and uses up no Idempotency-Key."""
    return read_query(DryRun, request.query_params).dry_run


def _value(member: Member, query: QueryDict) -> Any:
    """The parameter's value; None if it is absent."""
    name, text = member.spelling, single_value(query, member.spelling)
    if text is None:
        return None
    if parsed := member.note(Parsed):
        found = parsed.parse(text)
    elif is_choice(member.hint):
        if mistake := none_of([choice.value for choice in member.hint], text):
            raise InvalidRequest(f"{name} {mistake}")
        found = member.hint(text)
    elif member.hint is bool:
        found = is_true(query, name)
    elif member.hint is int:
        found = _whole(name, text, member.note(Whole))
    else:
        found = text
    if unstorable(text) is not None:
        raise InvalidRequest(f"{name} holds what is no text.")
    return found


def _whole(name: str, text: str, bounds: Whole) -> int:
    number = whole_number(text, at_most=bounds.most)
    if number is None or number < bounds.least:
        raise outside(name, bounds)
    return number


def outside(name: str, bounds: Whole) -> InvalidRequest:
    return InvalidRequest(f"{name} {not_whole(None, most=bounds.most, least=bounds.least)}")


def parameter_refusals(shape: type) -> Iterator[Refusal]:
    """Examples of the refusals of the parameters that many calls take."""
    if issubclass(shape, DryRun):
        yield BAD_DRY_RUN
    for member in members(cast("Any", shape)):
        if member.name == "limit":
            yield outside("limit", member.note(Whole))
        if member.name == "after" and member.hint is not int:
            yield InvalidAfter()
        if member.name == "cursor":
            yield InvalidCursor()
            yield BothPlaces()


def _refuse_other_spellings(query: QueryDict) -> None:
    """A caller who wants a dry run must not trigger for want of a capital letter."""
    for name in query:
        if name != "dryRun" and _NO_LETTERS.sub("", name).lower() == "dryrun":
            raise InvalidRequest(f"Write dryRun, not {name[:100]}.")
