"""`branch`: the first case that holds decides which step comes next.

`{"id": "which", "type": "branch", "cases": [{"if": {…}, "next": "vip"}], "else": "others"}`; without `else`, the step's
`next` applies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from customers.conditions import Condition, Facts, Root, evaluate, findings_of, values_that_decide
from engage.json.documents import Part, Reading
from journeys.steps.context import StepContext
from journeys.steps.events import read_condition
from journeys.steps.results import GoTo, StepResult, going_on, step_record
from journeys.steps.written import WrittenStep

MAX_CASES = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """Where to go if the condition holds (None: the end)."""

    condition: Condition
    next: str | None


@dataclass(frozen=True, kw_only=True)
class Branch:
    """Goes to the target of the first case that holds, otherwise to `next`."""

    type: ClassVar = "branch"
    paces_loops: ClassVar = False

    id: str
    cases: tuple[Case, ...]
    next: str | None

    @property
    def targets(self) -> tuple[str | None, ...]:
        return (*(case.next for case in self.cases), self.next)

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


def parse_branch(step: WrittenStep) -> Branch:
    """Parses a `branch` step. Raises InvalidSteps."""
    with Reading() as read:
        fields = step.fields(required=["cases"], optional=["else"], reading=read)
        cases = read(lambda: _read_cases(step, fields["cases"]))
        otherwise = read(lambda: step.target_in(fields, "else"))
    return Branch(id=step.id, cases=cases, next=otherwise)


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
        condition = read(lambda: read_condition(fields["if"], roots=list(Root), stored=step.stored))
        target = read(lambda: step.target(fields["next"]))
    return Case(condition=condition, next=target)
