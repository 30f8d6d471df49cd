"""The trigger's body: aliases folded, bounds checked, turned into what the domain understands."""

import re
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from customers.audience.selection import Audience
from customers.identifier_rules import one_spelling_of_each
from engage.errors import InvalidRequest, MissingParameter
from engage.http.fields import BodySerializer, ObjectField, TextArrayField, optional_text
from engage.http.query_strings import is_true
from journeys.entering.trigger import Recipient

MAX_EXTERNAL_IDS = 1000
MAX_SEGMENT_IDS = 10
SINGLE = ("customerId", "external_id", "email")  # in order of precedence
BULK = ("external_ids", "segment_ids")
DRY_RUN = "dryRun"
_NO_LETTERS = re.compile(r"[^A-Za-z]")
NOBODY_NAMED = "At least one of external_id, email, customerId, external_ids, segment_ids must be present."


class TriggerBody(BodySerializer):
    """Either one customer, by one identifier, or many, by ids and segments."""

    aliases = {
        "externalId": "external_id",
        "externalIds": "external_ids",
        "segmentIds": "segment_ids",
        "excludeExternalIds": "exclude_external_ids",
        "properties": "payload",
    }

    # Of any length: a value that is too long matches no customer.
    customerId = optional_text("The customer's id in this service.")
    external_id = optional_text("The customer's id in your own system.")
    email = optional_text("The customer's e-mail address. Not case-sensitive.")
    external_ids = TextArrayField(
        required=False,
        max_items=MAX_EXTERNAL_IDS,
        help_text="The customers' external ids. Ids that no customer has are skipped.",
    )
    segment_ids = TextArrayField(
        required=False,
        max_items=MAX_SEGMENT_IDS,
        help_text="The ids of segments in the workspace: all their members are queued. With `external_ids`, only "
        "customers in both.",
    )
    exclude_external_ids = TextArrayField(
        required=False,
        max_items=MAX_EXTERNAL_IDS,
        help_text="The external ids of customers to leave out, however they were selected.",
    )
    payload = ObjectField(
        required=False,
        help_text="Data for the journey's templates, available as `api.payload.<key>` and `api.properties.<key>`.",
    )


@dataclass(frozen=True, kw_only=True)
class TriggerCall:
    """What a trigger call asks for: a recipient (single) or an audience (bulk)."""

    target: Recipient | Audience
    exclude_external_ids: list[str] = field(default_factory=list)
    payload: dict[str, Any] = field(default_factory=dict)


def read_trigger_call(body: Any) -> TriggerCall:
    """The call that the body describes. Raises MissingParameter, ArraySizeExceeded, InvalidRequest."""
    values = TriggerBody.read(body)
    excluded = one_spelling_of_each(values.get("exclude_external_ids", []))
    return TriggerCall(
        target=_target(values, excluded), exclude_external_ids=excluded, payload=values.get("payload", {})
    )


def read_payload(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload alone, with the same limits as in a call. Raises InvalidRequest."""
    read: dict[str, Any] = TriggerBody.read({"payload": payload})["payload"]
    return read


def read_dry_run(query: QueryDict) -> bool:
    """Whether the query string asks for a dry run.

    Raises InvalidRequest, also for another spelling of the name: a caller who wants a dry run must not trigger.
    """
    for name in query:
        if name != DRY_RUN and _NO_LETTERS.sub("", name).lower() == DRY_RUN.lower():
            raise InvalidRequest(f"Write {DRY_RUN}, not {name[:100]}.")
    return is_true(query, DRY_RUN)


def _target(values: dict[str, Any], excluded: list[str]) -> Recipient | Audience:
    single = [name for name in SINGLE if name in values]
    bulk = [name for name in BULK if name in values]
    filled = [name for name in bulk if values[name]]  # beside a single one, an empty array is as absent as a blank text
    if single and filled:
        raise InvalidRequest(
            f"{single[0]} names one customer and {filled[0]} names many; send the one or the other, not both."
        )
    if single:
        return Recipient(field=single[0], value=values[single[0]])  # type: ignore[arg-type]
    if not filled:
        raise MissingParameter(NOBODY_NAMED)
    return Audience(
        external_ids=tuple(one_spelling_of_each(values["external_ids"])) if "external_ids" in values else None,
        segment_ids=tuple(values["segment_ids"]) if "segment_ids" in values else None,
        exclude_external_ids=tuple(excluded),
    )
