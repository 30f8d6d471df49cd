"""A rehearsal: the whole way on a virtual clock."""

from datetime import timedelta
from typing import Any

import pytest

from journeys.steps.rehearsal import MAX_STEP_RECORDS, Rehearsal, rehearse
from journeys.steps.results import Ended
from tests.journeys.steps.contexts import ADA, NOW, context, course
from tests.support.factories import DAY, OUT

HOOK: dict[str, Any] = {"id": "tell", "type": "webhook", "url": "https://example.com/{{ customer.plan }}"}
BOUGHT: dict[str, Any] = {"id": "bought", "type": "wait_for_event", "event": "order", "timeout": "P2D"}
GRADE: dict[str, Any] = {"id": "grade", "type": "update_profile", "attributes": {"plan": "{{ customer.plan }}+"}}


def told(rehearsal: Rehearsal) -> list[tuple[int, str, str]]:
    """Days since the start, step and detail."""
    return [((step.at - NOW).days, step.step_record.step_id, step.step_record.detail) for step in rehearsal.steps]


def test_a_rehearsal_goes_the_whole_way_with_the_clock_moved_on() -> None:
    rehearsal = rehearse(course(GRADE, DAY, HOOK, BOUGHT, OUT), context())
    assert told(rehearsal) == [
        (0, "grade", "Wrote plan."),
        (0, "day", "Waits until 2026-11-21T12:00:00Z."),
        (1, "day", "The wait is over."),
        (1, "tell", "Sends POST to example.com."),
        (1, "tell", "Assumed: the webhook succeeds."),
        (1, "bought", "Waits for the event 'order' until 2026-11-23T12:00:00Z."),
        (3, "bought", "The event did not come in time: goes on to 'out' (assumed)."),
        (3, "out", "Enough."),
    ]
    assert rehearsal.ended == Ended(step_id="out", exited=True, reason="Enough.")
    assert rehearsal.ending == "Enough."


def test_later_steps_see_what_earlier_ones_wrote_and_the_context_stays_as_it_is() -> None:
    given = context()
    request = rehearse(course(GRADE, HOOK), given).steps[1].step_record.request
    assert request is not None
    assert request.url == "https://example.com/pro%2B"
    assert (given.customer, given.now) == (ADA, NOW)


def test_a_rehearsal_of_an_endless_journey_is_stopped() -> None:
    rehearsal = rehearse(course({**DAY, "next": "day"}), context())
    assert len(rehearsal.steps) == MAX_STEP_RECORDS
    assert rehearsal.steps[-1].at == NOW + timedelta(days=99) + timedelta(days=1)
    assert (rehearsal.ended, rehearsal.ending) == (None, "Stopped after 200 steps.")


def test_a_rehearsal_may_begin_in_the_middle_and_be_short() -> None:
    rehearsal = rehearse(course(HOOK, DAY, OUT), context(), step_id="day", at_most=2)
    assert [(day, step) for day, step, _ in told(rehearsal)] == [(0, "day"), (1, "day")]
    assert rehearsal.ending == "Stopped after 2 steps."


def test_a_journey_that_ends_with_the_last_step_allowed_has_ended() -> None:
    assert rehearse(course(OUT), context(), at_most=1).ending == "Enough."


def test_a_walk_that_pauses_is_rehearsed_to_its_end() -> None:
    steps = [{"id": f"s{number}", "type": "track_event", "eventName": "seen"} for number in range(150)]
    rehearsal = rehearse(course(*steps), context())
    assert len(rehearsal.steps) == 150
    assert rehearsal.ending == "The last step is done."


def test_a_journey_without_steps_completes_at_once() -> None:
    assert rehearse(course(), context()) == Rehearsal(
        steps=(), ended=None, ending="The journey has no steps: it completes at once."
    )


def test_a_step_whose_code_raises_ends_the_rehearsal_as_it_would_end_the_enrollment() -> None:
    rehearsal = rehearse(course(GRADE, DAY), context(), step_id="gone")
    assert rehearsal.ended is not None
    assert rehearsal.ended.exited
    assert rehearsal.ending == "The step 'gone' cannot be walked, and would be given up: KeyError: 'gone'"


def test_a_rehearsal_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journeys.steps.rehearsal.MAX_SECONDS", -1.0)
    rehearsal = rehearse(course(GRADE, DAY), context())
    assert (rehearsal.steps, rehearsal.ended, rehearsal.ending) == ((), None, "Stopped after 0 steps.")
