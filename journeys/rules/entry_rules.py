"""The entry rules of the interface, as a pure function: may this customer enter this journey now?

1. More than one entry allowed, fewer completed: an active enrollment is exited and a new one is created.
2. One entry (1 or unset), an active enrollment: already enrolled.
3. One entry, a completed enrollment: already enrolled, unless re-enrollment is enabled.

Rule 2 comes before rule 3: an active enrollment counts even if re-enrollment is on. Only completed entries count
against the limit; exited ones do not. The entry conditions must also hold. Of those whom all this lets in, some are
held out.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from engage.notations.plurals import counted


class Verdict(StrEnum):
    """The outcome of a decision. A job's result is one of these, or says that there was none (models/entering.py)."""

    ENROLLED = "enrolled"
    ALREADY_ENROLLED = "already_enrolled"
    MAX_ENTRIES_REACHED = "max_entries_reached"
    CONDITIONS_NOT_MET = "conditions_not_met"
    JOURNEY_INACTIVE = "journey_inactive"
    CUSTOMER_DELETED = "customer_deleted"
    DUPLICATE_ENTRANCE = "duplicate_entrance"
    EXPIRED = "expired"
    HELD_OUT = "held_out"


@dataclass(frozen=True, kw_only=True)
class EntryRules:
    """How often a customer may enter a journey. `max_entries` is at least 1."""

    journey_active: bool
    max_entries: int
    allow_reenrollment: bool


class History(NamedTuple):
    """One customer's past in one journey: the enrollment that is active, and how many were completed; ids or None.

    `last_completed` is one of the completed ones.
    """

    active: str | None
    completed: int
    last_completed: str | None


class Decision(NamedTuple):
    """A verdict with its reason in words, and whether the active enrollment is exited to make room.

    `details` are what the reason rests on. They quote the customer's values, which the reason never does.
    """

    verdict: Verdict
    reason: str
    exits_active: bool = False
    details: tuple[str, ...] = ()

    @property
    def enrolls(self) -> bool:
        return self.verdict is Verdict.ENROLLED


SWITCHED_OFF = Decision(Verdict.JOURNEY_INACTIVE, "The journey was switched off before the job was decided.")
_ENROLLED = Decision(Verdict.ENROLLED, "The customer met the entry rules.")


def decide(
    *,
    rules: EntryRules,
    history: History,
    customer_exists: bool,
    conditions_hold: bool,
    entrance_held_by: str | None = None,
    expired: bool = False,
    held_out: bool = False,
) -> Decision:
    """The decision about one job. `entrance_held_by` is another job that has its entrance."""
    if not customer_exists:
        return Decision(Verdict.CUSTOMER_DELETED, "The customer was erased before the job was decided.")
    if expired:
        return Decision(Verdict.EXPIRED, "The job was not decided by the time that its call gave as expiresAt.")
    if not rules.journey_active:
        return SWITCHED_OFF
    if entrance_held_by is not None:
        return Decision(Verdict.DUPLICATE_ENTRANCE, f"The entrance is that of an earlier job: {entrance_held_by}.")
    if refused := _refused_by_number(rules, history):
        return refused
    if not conditions_hold:
        return Decision(Verdict.CONDITIONS_NOT_MET, "The customer did not meet the journey's entry conditions.")
    if held_out:
        return Decision(Verdict.HELD_OUT, "The customer met the entry rules, and is held out of the journey.")
    return _enroll(rules, history)


def _refused_by_number(rules: EntryRules, history: History) -> Decision | None:
    if rules.max_entries > 1:  # rule 1
        if history.completed < rules.max_entries:
            return None
        return Decision(
            Verdict.MAX_ENTRIES_REACHED,
            f"The customer had completed the journey as often as was allowed: {counted(rules.max_entries, 'time')}.",
        )
    if history.active:  # rule 2
        return Decision(
            Verdict.ALREADY_ENROLLED, f"The customer was in the journey already: enrollment {history.active}."
        )
    if history.completed and not rules.allow_reenrollment:  # rule 3
        return Decision(
            Verdict.ALREADY_ENROLLED,
            f"The customer had completed the journey (enrollment {history.last_completed}), and re-enrollment was not "
            "enabled.",
        )
    return None


def _enroll(rules: EntryRules, history: History) -> Decision:
    if history.active:  # rule 1; by rule 2 it is refused otherwise
        return Decision(
            Verdict.ENROLLED,
            f"Entry {history.completed + 1} of {rules.max_entries}; the active enrollment was exited for it.",
            exits_active=True,
        )
    return _ENROLLED
