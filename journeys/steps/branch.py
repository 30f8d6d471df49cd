"""`branch`: the first case that holds decides which step comes next.

`{"id": "which", "type": "branch", "cases": [{"if": {…}, "next": "vip"}], "else": "others"}`; without `else`, the step's
`next` applies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from customers.conditions import Condition, Facts, evaluate, findings_of, in_words, values_that_decide
from engage.json.described import abouts_of, list_of, object_of, told, within
from engage.process.budget import OverBudget
from journeys.steps.conditions import condition_within
from journeys.steps.context import StepContext
from journeys.steps.kinds import STEP, Kind, Way, target, way
from journeys.steps.results import GoTo, StepResult, going_on, step_record
from journeys.steps.written import WrittenStep

MAX_CASES = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """Where to go if the condition holds (None: the end)."""

    condition: Condition = within("if", condition_within, about=told("If", "condition", start={}))
    next: str | None = within("next", WrittenStep.target, about=STEP)


@dataclass(frozen=True, kw_only=True)
class Branch(Kind):
    """Goes to the target of the first case that holds, otherwise to `next`."""

    type: ClassVar = "branch"
    title: ClassVar = "Branch"
    icon: ClassVar = "call_split"
    does: ClassVar = "Goes the way of the first case that holds; without else, on to the next step where none does."
    examples: ClassVar = (
        {
            "id": "plan",
            "cases": [{"if": {"field": "customer.plan", "op": "eq", "value": "pro"}, "next": "leave"}],
            "else": "halves",
        },
    )
    label: ClassVar = "Branch"

    cases: tuple[Case, ...] = within(
        "cases",
        list_of(object_of(Case), at_most=MAX_CASES, least=1, called="one case"),
        about=told("Cases", "list", item="case", fields=abouts_of(Case), least=1, most=MAX_CASES),
    )
    next: str | None = target("else", "Otherwise")

    def ways(self) -> list[Way]:
        return [*(way(case.next, in_words(case.condition)) for case in self.cases), way(self.next, "otherwise")]

    def begin(self, context: StepContext) -> StepResult:
        facts, number = context.facts(), 0
        try:
            for number, case in enumerate(self.cases, start=1):
                if evaluate(case.condition, facts):
                    return self._go(case.next, f"Case {number} of {len(self.cases)} holds", facts, [case])
        except OverBudget as over:
            detail = f"Case {number} of {len(self.cases)} {over.message} {going_on(self.next).capitalize()}."
            return StepResult(step_record(self, "failed", detail), then=GoTo(step_id=self.next))
        return self._go(self.next, "No case holds", facts, self.cases)

    def _go(self, step_id: str | None, why: str, facts: Facts, decided_by: Sequence[Case]) -> StepResult:
        because = values_that_decide((case.condition for case in decided_by), findings_of(facts))
        record = step_record(self, "done", f"{why}: {going_on(step_id)}.", because=tuple(because))
        return StepResult(step_record=record, then=GoTo(step_id=step_id))
