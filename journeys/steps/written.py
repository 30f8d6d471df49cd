"""A step as written in a journey's definition, with what the parsers of all step types, and others, share."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engage.errors import Refusal
from engage.json.documents import Fields, Part, Reading
from journeys.rendering import NAMES, Names
from journeys.steps.inputs import Inputs
from journeys.steps.webhook_targets import Target

LONGEST_ID = 100


class InvalidSteps(Refusal):
    """The steps are not a valid definition; the message names the place."""

    error = "Invalid steps"


class UnknownStepType(InvalidSteps):
    """A step is of no type that this version knows."""


def no_variable(name: str | None) -> str:
    """Why a variable is refused that the workspace does not have."""
    return f"reads vars.{name}, but the workspace has no variable of this name."


class Known(Protocol):
    """What a workspace has that a definition may name; it is asked for only if a definition names such a thing."""

    @property
    def variables(self) -> Collection[str]: ...

    @property
    def topics(self) -> Collection[str]: ...

    def connection(self, key: str) -> Inputs | None:
        """What the connection with this key wants to be given; None if there is no such connection."""

    def shows_message(self, key: str) -> bool:
        """Whether the message with this key is active and has content."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """Something being parsed that holds templates, with the `names` that these may begin with.

    `stored`: it was saved before, so it need not keep to the rules that came later, nor name only what is still known,
    because customers are inside. `require_callable` raises RefusedRequest for the target of a webhook. What it names of
    the workspace must be `known`; None: anything may be.
    """

    part: Part
    names: Names = field(default_factory=lambda: NAMES)
    stored: bool = False
    require_callable: Callable[[Target], None] | None = None
    known: Known | None = None

    def require_variable(self, part: Part, name: str | None) -> None:
        """Refuses a variable that the workspace does not have, and one whose name is known only when it is read."""
        if name is None:
            part.refuse("reads vars without a name: write vars and the name of a variable, such as vars.shop.")
        if self.known is not None and name not in self.known.variables:
            part.refuse(no_variable(name))

    def place_of(self, part: Part) -> str:
        """The place of a part within this: `body.user.name`."""
        return part.place.removeprefix(f"{self.part.place}.")


@dataclass(frozen=True, kw_only=True)
class WrittenStep(Written):
    """One step being parsed: its id, the id of the step after it (None if it is the last), and the ids of all steps."""

    id: str
    following: str | None
    ids: Collection[str]

    def fields(self, *, reading: Reading, required: Collection[str] = (), optional: Collection[str] = ()) -> Fields:
        """The fields of its type. Every step requires `id` and `type` and may have `next`."""
        fields = self.part.fields(required=["id", "type", *required], optional=[*optional, "next"], reading=reading)
        if not self.stored:
            reading(self.next)  # must lead to a step even where the type never follows it
        return fields

    def next(self) -> str | None:
        """The id of the step that comes next (None: the end): the one in `next`, otherwise the one after this."""
        written = self.part.members().get("next")
        return self.following if written is None else self.target(written)

    def target_in(self, fields: Mapping[str, Part], name: str) -> str | None:
        """The id of the step that this field names; if the field is absent, that of the step that comes next."""
        return self.target(fields[name]) if name in fields else self.next()

    def target(self, part: Part) -> str | None:
        """The id of a step of the same journey, or null for the end."""
        if part.is_null:
            return None
        step_id = part.text(at_most=LONGEST_ID)
        if step_id not in self.ids:
            part.refuse(f"is {step_id!r}, but no step has this id.")
        return step_id
