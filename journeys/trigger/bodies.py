"""What a trigger call takes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

from customers.audience.selection import Audience
from customers.identifier_rules import one_spelling_of_each
from engage.calls.schema.bodies import NOT_BLANK, at_least_one_of, none_of
from engage.json.fields import Items, Spelled, Stored, Text
from engage.json.keywords import BLANK
from engage.json.reading import Problem
from journeys.engine.entering.terms import Request, Terms
from journeys.engine.entering.trigger import Recipient
from journeys.trigger.recipients import EntranceId, RecipientPart, first_named
from journeys.trigger.schedules import ExpiresAtField, ScheduledForField

_ONE = ("customerId", "external_id", "email")  # in order of precedence
_MANY = ("external_ids", "segment_ids", "recipients")
_ONE_SPELLED = (*_ONE, "externalId")
_LISTS_SPELLED = ("external_ids", "segment_ids", "externalIds", "segmentIds")
_SOME, _NONE = {"type": "array", "minItems": 1}, {"type": ["array", "null"], "maxItems": 0}
NOBODY_NAMED = "At least one of external_id, email, customerId, external_ids, segment_ids, recipients must be present."
_ANY = Text(longest=None, blank_is_absent=True)  # a value that is too long matches no customer


@dataclass(frozen=True, kw_only=True)
class TriggerBody:
    """Either one customer, by one identifier, or many, by ids and segments, or each with a payload of their own."""

    rules: ClassVar = {
        "oneOf": [
            {"title": "One customer"}
            | at_least_one_of(*_ONE_SPELLED, value=NOT_BLANK)
            | none_of(*_LISTS_SPELLED, "recipients", absent=_NONE),
            {"title": "Many customers"}
            | at_least_one_of(*_LISTS_SPELLED, value=_SOME)
            | none_of(*_ONE_SPELLED, absent=BLANK)
            | {"allOf": [none_of("recipients", absent=_NONE)]},
            {"title": "Recipients"}
            | at_least_one_of("recipients", value=_SOME)
            | none_of(*_ONE_SPELLED, absent=BLANK)
            | {"allOf": [none_of(*_LISTS_SPELLED, absent=_NONE)]},
        ]
    }

    customer_id: Annotated[str | None, "The customer's id in this service.", _ANY] = None
    external_id: Annotated[
        str | None, "The customer's id in your own system.", _ANY, Spelled("external_id", also="externalId")
    ] = None
    email: Annotated[str | None, "The customer's e-mail address. Not case-sensitive.", _ANY] = None
    external_ids: Annotated[
        list[str] | None,
        "The customers' external ids. Ids that no customer has are skipped.",
        Items(most=1000),
        Spelled("external_ids", also="externalIds"),
    ] = None
    segment_ids: Annotated[
        list[str] | None,
        "The ids or keys of segments in the workspace: all their members are queued. With `external_ids`, only "
        "customers in both.",
        Items(most=10),
        Spelled("segment_ids", also="segmentIds"),
    ] = None
    recipients: Annotated[
        list[Any] | None,
        "The customers, each with a payload of their own, in place of every other way to name customers. Those whom no "
        "customer is are skipped.",
        Items(most=1000, of=RecipientPart),
    ] = None
    entrance_id: EntranceId = None
    scheduled_for: ScheduledForField = None
    expires_at: ExpiresAtField = None
    exclude_external_ids: Annotated[
        list[str],
        "The external ids of customers to leave out, however they were selected; those of who was merged lead on.",
        Items(most=1000),
        Spelled("exclude_external_ids", also="excludeExternalIds"),
    ] = field(default_factory=list)
    payload: Annotated[
        dict[str, Any],
        "Data for the journey's templates, available as `api.payload.<key>` and `api.properties.<key>`.",
        Stored(),
        Spelled("payload", also="properties"),
    ] = field(default_factory=dict)

    def problems(self) -> Iterator[Problem]:
        # Beside a customer, an empty array is as absent as a blank text.
        many = next((name for name in _MANY if getattr(self, name)), None)
        if self.recipient and many:
            one = self.recipient.field
            told = f"{one} names one customer and {many} names many; send the one or the other, not both."
            yield Problem(many, told, is_sentence=True)
        if self.recipients and (
            other := next((name for name in ("external_ids", "segment_ids") if getattr(self, name)), None)
        ):
            told = f"recipients names the customers, and {other} does as well; send the one or the other, not both."
            yield Problem("recipients", told, is_sentence=True)
        if self.scheduled_for and self.expires_at and self.expires_at <= self.scheduled_for.earliest:
            yield Problem("expiresAt", "must be after scheduledFor.")
        if not self.recipient and not many:
            yield Problem("external_id", NOBODY_NAMED, is_missing=True, is_sentence=True)

    @cached_property
    def recipient(self) -> Recipient | None:
        """The one customer; None if there are many."""
        return first_named(customer_id=self.customer_id, external_id=self.external_id, email=self.email)

    def request(self, *, workspace_id: str, journey_id: str, called_by: str) -> Request:
        """What it asks beside whom it names."""
        return Request(
            workspace_id=workspace_id,
            journey_id=journey_id,
            payload=self.payload,
            called_by=called_by,
            excluded=self.excluded,
            terms=Terms(entrance=self.entrance_id, schedule=self.scheduled_for, expires_at=self.expires_at),
        )

    @property
    def excluded(self) -> list[str]:
        return one_spelling_of_each(self.exclude_external_ids)

    @property
    def audience(self) -> Audience:
        external_ids, segment_ids = self.external_ids, self.segment_ids
        return Audience(
            external_ids=None if external_ids is None else tuple(one_spelling_of_each(external_ids)),
            segment_ids=None if segment_ids is None else tuple(segment_ids),
            exclude_external_ids=tuple(self.excluded),
        )
