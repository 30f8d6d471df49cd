"""Payloads are held to their journey's schema, if it has one, before anything is queued."""

from collections.abc import Mapping, Sequence
from typing import Any

from customers.audience.recipients import SentRecipient
from engage.errors import FailureDetail, Refusal
from engage.process.budget import OverBudget, for_many, third
from journeys.steps.payloads import Mistake, mistakes_in

Broken = Mapping[int, "PayloadInvalid"]


class PayloadInvalid(Refusal):
    """A payload is not as its journey's schema has it, or a recipient's own is no object or nested too deeply."""

    status = 422
    error = "Payload invalid"

    @classmethod
    def of(cls, mistakes: Sequence[Mistake]) -> "PayloadInvalid":
        told = [f"{place} {message}" for place, message in mistakes]
        details = [
            FailureDetail(field="payload", place=place, message=message)
            for (place, _), message in zip(mistakes, told, strict=True)
        ]
        return cls(" ".join(f"{one}." for one in told), details=details)


def require_payload(schema: Mapping[str, Any] | None, payload: Mapping[str, Any]) -> None:
    """Raises PayloadInvalid unless the payload of a call meets the schema; None: there is none."""
    if schema is not None:
        _require(payload, schema)


def without_broken(
    schema: Mapping[str, Any] | None, payload: Mapping[str, Any], recipients: Sequence[SentRecipient]
) -> tuple[Sequence[SentRecipient], Broken]:
    """Those recipients whose own payload, over the call's, meets the schema; and by their places, from 0, why others do
    not. Raises PayloadInvalid if the call's own breaks it already, in what is not every recipient's own.
    """
    if schema is None:
        return recipients, {}
    broken: dict[int, PayloadInvalid] = {}
    with for_many(len(recipients)):
        own = set.intersection(*(set(one.payload or {}) for one in recipients)) if recipients else set[str]()
        _require({name: value for name, value in payload.items() if name not in own}, schema, is_part=True)
        for one in recipients:
            try:
                with third():
                    _require({**payload, **(one.payload or {})}, schema)
            except PayloadInvalid as refusal:
                broken[one.place - 1] = refusal
    return [one for one in recipients if one.place - 1 not in broken], broken


def _require(payload: Mapping[str, Any], schema: Mapping[str, Any], *, is_part: bool = False) -> None:
    try:
        mistakes = mistakes_in(payload, schema, is_part=is_part)
    except OverBudget as over:
        raise PayloadInvalid(f"To check payload {over.message} Send less at once.") from None
    if mistakes:
        raise PayloadInvalid.of(mistakes)
