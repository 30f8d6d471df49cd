"""`send`: calls a provider by a connection of the workspace, with every promise of a webhook step.

`{"id": "mail", "type": "send", "connection": "postmark", "inputs": {"to": "{{ customer.email }}"}, "onFailure":
"exit"}`. The connection is looked up by its key when the step begins, so a changed one holds at once. A required input
without a value makes the step `skipped`, and the walk goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

from engage.json.described import told, within, written
from engage.json.documents import Part, Reading
from journeys.rendering import Names, Rendering
from journeys.steps.context import StepContext
from journeys.steps.inputs import Inputs
from journeys.steps.kinds import KeptBy
from journeys.steps.provider import Provider
from journeys.steps.results import StepFailed, WebhookRequest
from journeys.steps.sending import SendingStep
from journeys.steps.templated import TemplatedJson, is_constant, read_members
from journeys.steps.written import WrittenStep

LONGEST_KEY = 100
_DEEPEST = 20
_NO_INPUTS = TemplatedJson({}, constant=True)


def no_connection(key: str) -> str:
    """Why a connection is refused that the workspace does not have."""
    return f"is {key!r}, but the workspace has no connection with this key."


@dataclass(frozen=True, kw_only=True)
class SendStep(SendingStep):
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
        },
    )

    connection: str = written(
        "connection", partial(Part.text, at_most=LONGEST_KEY), about=told("Connection", "connection", start="")
    )
    inputs: TemplatedJson = within(
        "inputs", partial(read_members, deepest=_DEEPEST), default=_NO_INPUTS, about=told("Inputs", "inputs")
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

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        parsed = super().parse(step)
        if step.known is not None and not step.stored:
            _require_fitting(parsed, step, step.part.field("connection"))
        return parsed

    def mistakes(self, wanted: Inputs) -> list[tuple[str, str]]:
        """What of its inputs can never be right for a connection that wants these: where, and why."""
        given = self.inputs.value
        constant = {name: value for name, value in given.items() if is_constant(value)}
        known = {name: value for name, value in constant.items() if wanted.describes(name)}
        return [
            *((name, "is required by the connection.") for name in wanted.required if name not in given),
            *((name, "is no input of the connection.") for name in given if not wanted.describes(name)),
            *(
                (name, "must have a value: the connection requires it.")
                for name in wanted.lacking(constant, of=constant)
            ),
            *((name, f"{why}.") for name, why in wanted.problems(known)),
        ]


def _require_fitting(sent: SendStep, step: WrittenStep, named: Part) -> None:
    """Refuses a connection that is not there, and inputs that it would never take."""
    wanted = step.known.connection(sent.connection) if step.known else None
    if wanted is None:
        named.refuse(no_connection(sent.connection))
    with Reading() as read:
        for name, why in sent.mistakes(wanted):
            read.note(Part(None, f"{step.part.place}.inputs{f'.{name}' if name else ''}", step.part.refusal), why)
