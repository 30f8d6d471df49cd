"""What somebody who wrote a definition probably did not mean, though it may be saved: one list of checks.

It is told wherever a definition is saved, checked or shown. A new kind is one more function in _CHECKS.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from customers.conditions import tests_of
from customers.models import Topic
from engage.errors import Refusal
from engage.resources.resource import DefinitionWarning
from journeys.engine.connections.providers import provider_of
from journeys.journey.conditions import check_entry_conditions, check_event_where
from journeys.journey.past_moments import few_customers, moment_of_a_profile, past_for
from journeys.models import Connection, Journey
from journeys.rendering import Names
from journeys.steps.contacting import NO_TOPIC, silent_steps
from journeys.steps.course import Course, parse_course
from journeys.steps.definition import names_within, parse_steps, readable_steps
from journeys.steps.exit_rules import parse_exit_rules
from journeys.steps.provider import Provider
from journeys.steps.send import SendStep
from journeys.steps.templated import unescaped_markup
from journeys.steps.webhook import Webhook

_STEP = re.compile(r"steps\[([0-9]+)\]")
_INNER = re.compile(r"[.\[]")


STATUS_AS_TEXT = 'answer.status is a number, which no text equals: write 200 instead of "200".'
UNESCAPED = "It has a tag, and a value without escape: what somebody calls themselves would become markup."


def in_words(warning: DefinitionWarning) -> str:
    return f"{warning.place}: {warning.message}"


@dataclass(frozen=True, kw_only=True)
class _Definition:
    journey: Journey
    steps: object
    exit_on: object
    course: Course

    @cached_property
    def providers(self) -> dict[str, Provider]:
        """Those that its steps send by, by their keys, as far as they are there and can be read."""
        keys, found = self.course.connections, {}
        for connection in Connection.objects.filter(workspace=self.journey.workspace_id, key__in=keys) if keys else ():
            with suppress(Refusal):
                found[connection.key] = provider_of(connection)
        return found

    def kept_by(self, key: str) -> Names | None:
        return self.providers[key].kept_names if key in self.providers else None

    @cached_property
    def places(self) -> dict[str, str]:
        return {step_id: f"steps[{number}]" for number, step_id in enumerate(self.course.steps)}

    def at_step(self, step_id: str, message: str) -> DefinitionWarning:
        return DefinitionWarning(place=self.places[step_id], message=message, step_id=step_id)


def warnings_of(journey: Journey, *, steps: object, exit_on: object) -> list[DefinitionWarning]:
    """The warnings about a journey with these steps and exit rules, in order.

    Where they cannot be read, it is told of unreachable steps alone, and none if it is unclear which steps there are.
    """
    try:
        course = parse_course(steps, exit_on)
    except Refusal:
        return list(_unreachable(_possible_targets(steps)))
    definition = _Definition(journey=journey, steps=steps, exit_on=exit_on, course=course)
    return [warning for check in _CHECKS for warning in check(definition)]


def _unreachable_steps(definition: _Definition) -> Iterator[DefinitionWarning]:
    return _unreachable({step_id: step.targets for step_id, step in definition.course.steps.items()})


def _unreachable(targets: Mapping[str, Collection[str | None]]) -> Iterator[DefinitionWarning]:
    """The steps, by their ids in order, to which none of these targets leads from the first."""
    reached: set[str] = set()
    ahead = [*targets][:1]
    while ahead:
        step_id = ahead.pop()
        if step_id not in reached:
            reached.add(step_id)
            ahead += [target for target in targets[step_id] if target is not None and target in targets]
    for number, step_id in enumerate(targets):
        if step_id not in reached:
            message = f"The step {step_id!r} cannot be reached: no way leads to it from the first step."
            yield DefinitionWarning(place=f"steps[{number}]", message=message, step_id=step_id)


def _possible_targets(steps: object) -> Mapping[str, Collection[str | None]]:
    """Where each step may lead; one that cannot be read, to the next one and to all whose id stands in it."""
    written = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    ids = [step["id"] for step in written if isinstance(step.get("id"), str)]
    if not (isinstance(steps, list) and len(steps) == len(set(ids))):
        return {}
    readable = readable_steps(steps)
    return {
        step_id: readable[step_id].targets if step_id in readable else [following, *_texts(step)]
        for step, step_id, following in zip(written, ids, [*ids, None][1:], strict=True)
    }


def _texts(value: object) -> Iterator[str]:
    """All that stand in it."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _broken_rules(definition: _Definition) -> Iterator[DefinitionWarning]:
    """What was saved before a rule came that refuses it: it goes on, and could not be saved anew.

    So is what reads of an answer what a connection does not keep at the moment.
    """
    journey = definition.journey
    names = names_within(definition.steps, kept_by=definition.kept_by)
    reads: tuple[Callable[[], object], ...] = (
        lambda: check_event_where(journey),
        lambda: check_entry_conditions(journey.entry_conditions, trigger_type=journey.trigger_type),
        lambda: parse_steps(definition.steps, names=names),
        lambda: parse_exit_rules(definition.exit_on, names=names),
    )
    ids = list(definition.course.steps)
    for read in reads:
        try:
            read()
        except Refusal as refusal:
            for found in refusal.all_found():
                step = _STEP.match(found.place)
                step_id = ids[int(step.group(1))] if step else None
                yield DefinitionWarning(place=found.place, message=found.remark, step_id=step_id)


def _unescaped_markup(definition: _Definition) -> Iterator[DefinitionWarning]:
    """What somebody calls themselves must not become markup in the company's mail."""
    for step in definition.course.steps.values():
        places = unescaped_markup(step)
        if places and isinstance(step, SendStep):
            provider = definition.providers.get(step.connection)
            places = [place for place in places if not provider or _INNER.split(place)[1] not in provider.html]
        for place in places:
            at_step = definition.at_step(step.id, UNESCAPED)
            yield replace(at_step, place=f"{at_step.place}.{place}")


def _status_as_text(definition: _Definition) -> Iterator[DefinitionWarning]:
    for step in definition.course.steps.values():
        rules = step.request.answer_rules if isinstance(step, Webhook) else None
        tests = tests_of(rules.ok) if rules and rules.ok else []
        compared = [test.operand for test in tests if test.field.name == "answer.status"]
        if any(
            isinstance(one, str)
            for operand in compared
            for one in (operand if isinstance(operand, list) else [operand])
        ):
            at_step = definition.at_step(step.id, STATUS_AS_TEXT)
            yield replace(at_step, place=f"{at_step.place}.ok")


def _past_moments(definition: _Definition) -> Iterator[DefinitionWarning]:
    steps = definition.course.steps
    moments = {step_id: found for step_id, step in steps.items() if (found := moment_of_a_profile(step))}
    customers = few_customers(definition.journey.workspace_id) if moments else []
    for step_id, moment in moments.items():
        past, known = past_for(moment, customers)
        if past:
            told = f"at is past for {past} of {known} looked at who have such a time: "
            at_step = definition.at_step(step_id, f"{told}it does not wait for them, and goes on at once.")
            yield replace(at_step, place=f"{at_step.place}.at")


def _without_topic(definition: _Definition) -> Iterator[DefinitionWarning]:
    silent = silent_steps(definition.journey.topic, definition.course.steps)
    if silent and Topic.objects.filter(workspace=definition.journey.workspace_id).exists():
        ids = list(definition.course.steps)
        yield from (definition.at_step(ids[place], f"It {NO_TOPIC}") for place in silent)


_CHECKS: tuple[Callable[[_Definition], Iterator[DefinitionWarning]], ...] = (
    _unreachable_steps,
    _broken_rules,
    _unescaped_markup,
    _status_as_text,
    _past_moments,
    _without_topic,
)
