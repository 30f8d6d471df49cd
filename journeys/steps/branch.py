"""`branch`: the first case that holds decides which step comes next.

`{"id": "which", "type": "branch", "cases": [{"if": {…}, "next": "vip"}], "else": "others"}`; without `else`, the step's
`next` applies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from customers.conditions import Condition, Facts, evaluate, findings_of, in_words, values_that_decide
from engage.json.documents import Part, Reading
from journeys.steps.conditions import read_condition
from journeys.steps.context import StepContext
from journeys.steps.kinds import Kind, Way, way
from journeys.steps.results import GoTo, StepResult, going_on, step_record
from journeys.steps.written import WrittenStep

MAX_CASES = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """Where to go if the condition holds (None: the end)."""

    condition: Condition
    next: str | None


@dataclass(frozen=True, kw_only=True)
class Branch(Kind):
    """Goes to the target of the first case that holds, otherwise to `next`."""

    type: ClassVar = "branch"
    does: ClassVar = "Goes the way of the first case that holds; without else, on to the next step where none does."
    examples: ClassVar = (
        {
            "id": "plan",
            "cases": [{"if": {"field": "customer.plan", "op": "eq", "value": "pro"}, "next": "leave"}],
            "else": "halves",
        },
    )
    label: ClassVar = "Branch"

    id: str
    cases: tuple[Case, ...]
    next: str | None

    def ways(self) -> list[Way]:
        return [*(way(case.next, in_words(case.condition)) for case in self.cases), way(self.next, "otherwise")]

    def begin(self, context: StepContext) -> StepResult:
        facts = context.facts()
        for number, case in enumerate(self.cases, start=1):
            if evaluate(case.condition, facts):
                return self._go(case.next, f"Case {number} of {len(self.cases)} holds", facts, [case])
        return self._go(self.next, "No case holds", facts, self.cases)

    def _go(self, step_id: str | None, why: str, facts: Facts, decided_by: Sequence[Case]) -> StepResult:
        because = values_that_decide((case.condition for case in decided_by), findings_of(facts))
        record = step_record(self, "done", f"{why}: {going_on(step_id)}.", because=tuple(because))
        return StepResult(step_record=record, then=GoTo(step_id=step_id))

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        with Reading() as read:
            fields = step.fields(required=["cases"], optional=["else"], reading=read)
            cases = read(lambda: _read_cases(step, fields["cases"]))
            otherwise = read(lambda: step.target_in(fields, "else"))
        return cls(id=step.id, cases=cases, next=otherwise)


def _read_cases(step: WrittenStep, part: Part) -> tuple[Case, ...]:
    parts = part.items(at_most=MAX_CASES)
    if not parts:
        part.refuse("must hold at least one case.")
    with Reading() as read:
        cases = read.each(parts, lambda one: _read_case(step, one))
    return tuple(cases)


def _read_case(step: WrittenStep, part: Part) -> Case:
    with Reading() as read:
        fields = part.fields(required=["if", "next"], reading=read)
        condition = read(lambda: read_condition(fields["if"], stored=step.stored, names=step.names))
        target = read(lambda: step.target(fields["next"]))
    return Case(condition=condition, next=target)
