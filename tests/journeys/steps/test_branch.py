"""Branches: the first case that holds."""

from typing import Any

from journeys.steps.context import Occurrence
from journeys.steps.results import Ended
from tests.journeys.steps.contexts import context, course, refusal_of, walk
from tests.support.cases import each
from tests.support.factories import PRO

FREE = {"field": "customer.plan", "op": "eq", "value": "free"}
PLAN = 'customer.plan is "pro"'
PAID = {"field": "api.payload.paid", "op": "eq", "value": True}
ORDERED = {"field": "event.name", "op": "eq", "value": "order"}


def exits(*ids: str) -> list[dict[str, Any]]:
    return [{"id": step_id, "type": "exit", "reason": f"At {step_id}."} for step_id in ids]


def branch(*cases: tuple[object, str | None], **fields: Any) -> dict[str, Any]:
    return {"id": "which", "type": "branch", "cases": [{"if": case, "next": to} for case, to in cases], **fields}


@each(
    "step, at, detail, because",
    [
        (branch((FREE, "a"), (PRO, "b"), (PRO, "a")), "b", "Case 2 of 3 holds: goes on to 'b'.", [PLAN]),
        (branch((FREE, "b")), "a", "No case holds: goes on to 'a'.", [PLAN]),
        (branch((FREE, "a"), **{"else": "b"}), "b", "No case holds: goes on to 'b'.", [PLAN]),
        (branch((FREE, "a"), next="b"), "b", "No case holds: goes on to 'b'.", [PLAN]),
        (branch((FREE, "a"), **{"else": None}), "which", "No case holds: the journey ends.", [PLAN]),
        (
            branch(({"not": PAID}, "a"), (FREE, "a"), next="b"),
            "b",
            "No case holds: goes on to 'b'.",
            ["api.payload.paid is true", PLAN],
        ),
        (branch((PRO, None)), "which", "Case 1 of 1 holds: the journey ends.", [PLAN]),
        (branch((PAID, "b")), "b", "Case 1 of 1 holds: goes on to 'b'.", ["api.payload.paid is true"]),
        (branch((ORDERED, "b")), "b", "Case 1 of 1 holds: goes on to 'b'.", ['event.name is "order"']),
        (
            branch(({"all": [PAID, {"not": FREE}]}, "b")),
            "b",
            "Case 1 of 1 holds: goes on to 'b'.",
            ["api.payload.paid is true", PLAN],
        ),
    ],
)
def test_the_first_case_that_holds_decides_and_its_values_are_told(
    step: dict[str, Any], at: str, detail: str, because: list[str]
) -> None:
    ordered = Occurrence(name="order", properties={})
    walked = walk(course(step, *exits("a", "b")), context(payload={"paid": True}, event=ordered))
    assert isinstance(walked.stop, Ended)
    assert walked.stop.step_id == at
    first = walked.step_records[0]
    assert (first.state, first.resumed, first.detail) == ("done", False, detail)
    assert list(first.because) == because


@each("event", [None, Occurrence(name="order", properties={})])
@each("payload, at", [({"paid": True}, "b"), ({"paid": False}, "a"), ({}, "a")])
def test_what_came_with_the_trigger_decides(payload: dict[str, Any], at: str, event: Occurrence | None) -> None:
    walked = walk(course(branch((PAID, "b")), *exits("a", "b")), context(payload=payload, event=event))
    assert walked.stop.step_id == at


def test_a_branch_may_have_20_cases() -> None:
    walked = walk(course(branch(*[(FREE, None)] * 19, (PRO, "b")), *exits("a", "b")))
    assert walked.step_records[0].detail == "Case 20 of 20 holds: goes on to 'b'."


def test_without_an_event_no_test_of_it_holds() -> None:
    assert walk(course(branch((ORDERED, "b")), *exits("a", "b"))).stop.step_id == "a"


@each(
    "step, message",
    [
        (branch(), "steps[0].cases must hold at least one case."),
        (branch(*[(PRO, None)] * 21), "steps[0].cases holds 21 items; its maximum is 20."),
        (branch((PRO, "nowhere")), "steps[0].cases[0].next is 'nowhere', but no step has this id."),
        (branch((PRO, None), **{"else": "nowhere"}), "steps[0].else is 'nowhere', but no step has this id."),
        (branch(({"all": [PRO, {"field": "x"}]}, None)), "steps[0].cases[0].if.all[1].op is required."),
        (branch((None, None)), "steps[0].cases[0].if must be an object, but null came."),
        ({"id": "which", "type": "branch", "cases": [{"if": PRO}]}, "steps[0].cases[0].next is required."),
        ({"id": "which", "type": "branch", "cases": [{"next": None}]}, "steps[0].cases[0].if is required."),
        ({"id": "which", "type": "branch"}, "steps[0].cases is required."),
        (branch((PRO, "which")), "steps[0] stands in a loop without a wait: which → which."),
    ],
)
def test_a_bad_branch_is_refused_with_its_place(step: dict[str, Any], message: str) -> None:
    assert refusal_of(step) == message
