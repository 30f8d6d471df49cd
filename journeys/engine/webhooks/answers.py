"""What an answer says by the rules of its request: whether it is ok, and what is kept of it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from customers.conditions import CustomerFacts, Facts, evaluate
from engage.json.compact import json_bytes
from engage.json.storable import InvalidJson, parse_value
from engage.notations.sizes import KIB
from engage.process.budget import ATTEMPT, Budget, OverBudget
from journeys.engine.webhooks.outcomes import Outcome
from journeys.rendering import Rendering, RenderingFailed, ValuePath
from journeys.steps.answer_rules import MAX_KEPT_BYTES, STATUS, AnswerRules

_NOBODY = CustomerFacts(id="", external_id=None, email=None, phone=None, user_id=None, attributes={})


@dataclass(frozen=True, kw_only=True)
class AnswerRead:
    """`ok` None: the status decides. `kept` None: nothing is kept. `problem`: why it could not all be read, or kept."""

    ok: bool | None
    kept: Mapping[str, Any] | None
    problem: str = ""


def read_answer(outcome: Outcome, rules: AnswerRules) -> AnswerRead:
    """What the rules make of an attempt's answer. If none came, nothing is kept, not even what was kept before."""
    if outcome.status is None:
        return AnswerRead(ok=None, kept=None if rules.keep is None else {})
    with Budget(ATTEMPT):
        return _read(outcome, rules)


def _read(outcome: Outcome, rules: AnswerRules) -> AnswerRead:
    body = _body(outcome) if rules.reads_body else {}
    answer = {STATUS: outcome.status, "headers": outcome.headers, **body}
    facts, slow = Facts(customer=_NOBODY, now=outcome.at, answer=answer), ""
    try:
        ok = None if rules.ok is None else evaluate(rules.ok, facts)
    except OverBudget as over:
        ok, slow = False, f"The rule ok of its step {over.message}"
    problem = slow or ("" if outcome.whole or not rules.reads_body else _why_not_whole(outcome))
    if rules.keep is None:
        return AnswerRead(ok=ok, kept=None, problem=problem)
    kept = {STATUS: outcome.status} | _found(rules.keep, body)
    if (size := json_bytes(kept)) > MAX_KEPT_BYTES:
        problem = f"What is to be kept of its answer is {size} bytes of JSON; the maximum is {MAX_KEPT_BYTES}."
        kept = {STATUS: outcome.status}
    return AnswerRead(ok=ok, kept=kept, problem=problem)


def _body(outcome: Outcome) -> dict[str, Any]:
    """The body, if it is JSON. What cannot be stored in it, such as half of a character, spoils no other value."""
    try:
        return {"body": parse_value(outcome.body, mend=True)} if outcome.whole else {}
    except InvalidJson:
        return {}


def _why_not_whole(outcome: Outcome) -> str:
    return outcome.error or f"Its answer is larger than {len(outcome.body) // KIB} KiB, so it cannot be read."


def _found(paths: Mapping[str, ValuePath], body: Mapping[str, Any]) -> dict[str, Any]:
    """The values by name; those that are not there are left out."""
    reading, found = Rendering(lambda: body), {}
    for name, path in paths.items():
        with suppress(LookupError, RenderingFailed):
            found[name] = path.find(reading)
    return found
