"""The entry rules as one table, and against a second, plainer statement of the same rules."""

from hypothesis import given
from hypothesis import strategies as st

from journeys.rules.entry_rules import Decision, EntryRules, History, Verdict, decide
from tests.support.cases import each

INSIDE, LAST = "6a0b1c2fe4b0a1d2c3e4f504", "6a0b1c2fe4b0a1d2c3e4f505"  # enrollments
ENROLLED, ALREADY, MAX_REACHED = Verdict.ENROLLED, Verdict.ALREADY_ENROLLED, Verdict.MAX_ENTRIES_REACHED


def decided(
    *, max_entries: int = 1, reenroll: bool = False, active: bool = False, completed: int = 0, **facts: bool
) -> Decision:
    return decide(
        rules=EntryRules(
            journey_active=facts.get("journey_active", True), max_entries=max_entries, allow_reenrollment=reenroll
        ),
        history=History(
            active=INSIDE if active else None, completed=completed, last_completed=LAST if completed else None
        ),
        customer_exists=facts.get("customer_exists", True),
        conditions_hold=facts.get("conditions_hold", True),
    )


@each(
    "max_entries, reenroll, active, completed, verdict, exits_active",
    [
        (1, False, False, 0, ENROLLED, False),
        (1, False, True, 0, ALREADY, False),  # rule 2
        (1, True, True, 0, ALREADY, False),  # rule 2, also with re-enrollment
        (1, True, True, 3, ALREADY, False),  # rule 2 before rule 3
        (1, False, False, 1, ALREADY, False),  # rule 3
        (1, True, False, 1, ENROLLED, False),  # rule 3, unless re-enrollment
        (1, True, False, 9, ENROLLED, False),
        (3, False, False, 0, ENROLLED, False),
        (3, False, False, 2, ENROLLED, False),  # rule 1: fewer completed than the number
        (3, False, True, 0, ENROLLED, True),  # rule 1: the active one is exited
        (3, False, True, 2, ENROLLED, True),
        (3, False, False, 3, MAX_REACHED, False),
        (3, True, False, 3, MAX_REACHED, False),  # re-enrollment adds nothing to a number
        (3, False, True, 3, MAX_REACHED, False),  # the active one stays
    ],
)
def test_each_rule_of_the_interface(
    max_entries: int, reenroll: bool, active: bool, completed: int, verdict: Verdict, exits_active: bool
) -> None:
    decision = decided(max_entries=max_entries, reenroll=reenroll, active=active, completed=completed)
    assert (decision.verdict, decision.exits_active) == (verdict, exits_active)


def test_who_is_refused_because_of_an_enrollment_is_told_which() -> None:
    inside, completed = decided(active=True, completed=1), decided(completed=1)
    assert inside.reason == f"The customer was in the journey already: enrollment {INSIDE}."
    assert completed.reason == (
        f"The customer had completed the journey (enrollment {LAST}), and re-enrollment was not enabled."
    )


def test_conditions_must_hold_in_addition() -> None:
    assert decided(conditions_hold=False).verdict is Verdict.CONDITIONS_NOT_MET
    assert decided(conditions_hold=False, active=True).verdict is ALREADY


def test_an_active_enrollment_is_not_exited_where_the_conditions_do_not_hold() -> None:
    decision = decided(max_entries=2, active=True, conditions_hold=False)
    assert (decision.verdict, decision.exits_active) == (Verdict.CONDITIONS_NOT_MET, False)


def test_a_journey_switched_off_and_a_customer_erased_end_the_matter() -> None:
    assert decided(journey_active=False).verdict is Verdict.JOURNEY_INACTIVE
    assert decided(customer_exists=False, journey_active=False).verdict is Verdict.CUSTOMER_DELETED


@given(
    max_entries=st.integers(1, 4),
    reenroll=st.booleans(),
    active=st.booleans(),
    completed=st.integers(0, 5),
    exists=st.booleans(),
    journey_active=st.booleans(),
    conditions=st.booleans(),
)
def test_the_rules_agree_with_a_reference_model(
    max_entries: int, reenroll: bool, active: bool, completed: int, exists: bool, journey_active: bool, conditions: bool
) -> None:
    decision = decided(
        max_entries=max_entries,
        reenroll=reenroll,
        active=active,
        completed=completed,
        customer_exists=exists,
        journey_active=journey_active,
        conditions_hold=conditions,
    )
    may_by_number = completed < max_entries if max_entries > 1 else not active and (reenroll or completed == 0)
    assert decision.enrolls == (exists and journey_active and conditions and may_by_number)
    assert decision.exits_active == (decision.enrolls and active)
    assert decision.reason.endswith(".")
