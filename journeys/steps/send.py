"""`send`: calls a provider by a connection of the workspace, with every promise of a webhook step.

`{"id": "mail", "type": "send", "connection": "postmark", "inputs": {"to": "{{ customer.email }}"}, "onFailure":
"exit"}`. The connection is looked up by its key when the step begins, so a changed one holds at once. A required input
without a value makes the step `skipped`, and the walk goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engage.json.described import taken_from, told, within
from engage.json.documents import Fields, Part, Reading
from engage.process.budget import OverBudget
from journeys.rendering import Names, Rendering
from journeys.steps.contact import OTHER
from journeys.steps.contacting import ContactingStep
from journeys.steps.context import StepContext
from journeys.steps.inputs import Inputs
from journeys.steps.kinds import KeptBy
from journeys.steps.provider import Provider
from journeys.steps.results import Resumption, StepFailed, StepResult, TimedOut, WebhookRequest
from journeys.steps.sending import SendingStep
from journeys.steps.templated import TemplatedJson, is_constant, read_members
from journeys.steps.written import WrittenStep

LONGEST_KEY = 100
_DEEPEST = 20
_NO_INPUTS = TemplatedJson({}, constant=True)


def no_connection(key: str) -> str:
    """Why a connection is refused that the workspace does not have."""
    return f"is {key!r}, but the workspace has no connection with this key."


def _read_connection(step: WrittenStep, part: Part) -> str:
    key = part.text(at_most=LONGEST_KEY)
    if step.known is not None and not step.stored and step.known.connection(key) is None:
        part.refuse(no_connection(key))
    return key


def _read_inputs(step: WrittenStep, parts: Fields) -> TemplatedJson:
    """Refuses also what the connection would never take, beside whatever else is wrong."""

    def members(within: WrittenStep) -> TemplatedJson:
        return read_members(within, parts["inputs"], deepest=_DEEPEST) if "inputs" in parts else _NO_INPUTS

    with Reading() as read:
        inputs = read(lambda: members(step))
        if step.known is not None and not step.stored:
            read(lambda: _require_fitting(step, parts["connection"], members(replace(step, stored=True)).value))
    return inputs


def _require_fitting(step: WrittenStep, named: Part, given: Mapping[str, Any]) -> None:
    wanted = step.known.connection(_read_connection(step, named)) if step.known else None
    place = f"{step.part.place}.inputs"
    try:
        mistakes = _mistakes(given, wanted) if wanted else []
    except OverBudget as over:
        raise over.of(place, ": to check them") from None
    with Reading() as read:
        for name, why in mistakes:
            read.note(Part(None, f"{place}{f'.{name}' if name else ''}", step.part.refusal), why)


def _mistakes(given: Mapping[str, Any], wanted: Inputs) -> list[tuple[str, str]]:
    constant = {name: value for name, value in given.items() if is_constant(value)}
    known = {name: value for name, value in constant.items() if wanted.describes(name)}
    return [
        *((name, "is required by the connection.") for name in wanted.required if name not in given),
        *((name, "is no input of the connection.") for name in given if not wanted.describes(name)),
        *((name, "must have a value: the connection requires it.") for name in wanted.lacking(constant, of=constant)),
        *((name, f"{why}.") for name, why in wanted.problems(known)),
    ]


@dataclass(frozen=True, kw_only=True)
class SendStep(ContactingStep, SendingStep):
    """Sends by the connection with this key."""

    type: ClassVar = "send"
    title: ClassVar = "Send a message"
    icon: ClassVar = "send"
    called: ClassVar = "step"
    does: ClassVar = (
        "Calls a provider by a connection of the workspace. Its inputs are what the connection describes; one that is "
        "required and has no value makes the step skipped. onFailure is continue where it is left out."
    )
    examples: ClassVar = (
        {
            "id": "mail",
            "connection": "postmark",
            "inputs": {"to": "{{ customer.email }}", "template": "welcome"},
            "onFailure": "exit",
            "topic": "offers",
            "window": {"from": "09:00", "until": "20:00"},
        },
        {
            "id": "receipt",
            "connection": "postmark",
            "inputs": {"to": "{{ customer.email }}"},
            "purpose": "transactional",
        },
    )

    connection: str = within("connection", _read_connection, about=told("Connection", "connection", start=""))
    inputs: TemplatedJson = taken_from(
        _read_inputs, optional=["inputs"], default=_NO_INPUTS, about=[{"name": "inputs", **told("Inputs", "inputs")}]
    )

    @property
    def label(self) -> str:
        return f"by {self.connection}"

    @classmethod
    def kept_names(cls, step: Mapping[str, Any], kept_by: KeptBy) -> Names | None:
        """What the connection keeps at the moment, and may not keep tomorrow."""
        return kept_by(str(step.get("connection")))

    def rendered(self, context: StepContext, rendering: Rendering) -> WebhookRequest:
        provider = context.surroundings.providers.get(self.connection)
        if provider is None:
            raise StepFailed(f"The workspace has no connection {self.connection!r} any more.")
        return provider.filled(self._inputs(provider, rendering), rendering)

    def _inputs(self, provider: Provider, rendering: Rendering) -> dict[str, Any]:
        """As they are given to it: markup in values is escaped where the connection says so."""
        members, constant = self.inputs.value, self.inputs.constant
        html = {name: value for name, value in members.items() if name in provider.html}
        plain = {name: value for name, value in members.items() if name not in html} if html else members
        inputs: dict[str, Any] = TemplatedJson(plain, constant).render(rendering)
        if not html:
            return inputs
        with rendering.escaping():
            inputs |= TemplatedJson(html, constant).render(rendering)
        return inputs

    def _going(
        self, context: StepContext, request: WebhookRequest, missing: tuple[str, ...], *, resumed: bool
    ) -> StepResult:
        if context.contact is None:
            return self._sends(request, missing, resumed=resumed)
        sent = self.sent(context, request.channel, request.address, resumed=resumed)
        sent = replace(sent, give_up_after=request.give_up_after)
        asked = self.asked(context, sent)
        if asked is not None and asked.verdict != "send":
            return self.held_back(asked, missing, resumed=resumed)
        if sent.since is not None and request.give_up_after is not None:
            request = replace(request, give_up_after=sent.since + request.give_up_after - context.now)
        return self._sends(request, missing, resumed=resumed, asked=asked)

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult:
        if isinstance(arrival, TimedOut):
            return self._begun(context, resumed=True)
        return super().resume(context, arrival)

    def channel_of(self, context: StepContext) -> str:
        provider = context.surroundings.providers.get(self.connection)
        return "" if provider is None or provider.channel == OTHER else provider.channel

    def mistakes(self, wanted: Inputs) -> list[tuple[str, str]]:
        """What of its inputs can never be right for a connection that wants these: where, and why."""
        return _mistakes(self.inputs.value, wanted)
