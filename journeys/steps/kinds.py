"""What every kind of step says of itself, in its own file: how it is drawn, where it leads, and how it is written."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from engage.json.described import About, names_of, read_values, taken_from
from engage.json.documents import Fields, Reading
from journeys.rendering import Names
from journeys.steps.events import EventPattern
from journeys.steps.written import WrittenStep

# What is drawn beside the steps, and counted: where customers enter, and the two ends. No step has such an id.
ENTRY, COMPLETED, EXITED = "@entry", "@completed", "@exited"

# What the connection with this key keeps; None: any name.
KeptBy = Callable[[str], Names | None]


class Way(NamedTuple):
    """A way from a step: to another one, by its id, or to one of the ends. The label says when it is taken."""

    target: str
    label: str


def way(step_id: str | None, label: str = "") -> Way:
    """The way to this step (None: to the end of the journey)."""
    return Way(COMPLETED if step_id is None else step_id, label)


def following() -> Any:
    """A field: the id of the step that comes next."""

    def read(step: WrittenStep, _: Fields) -> str | None:
        return step.next()

    return taken_from(read, about=[{"name": "next", "type": "step", "label": "Next step", "help": ""}])


def target(name: str, label: str) -> Any:
    """A field: the id of the step that the part of this name leads to; without one, of the step that comes next."""

    def read(step: WrittenStep, parts: Fields) -> str | None:
        return step.target_in(parts, name)

    return taken_from(read, optional=[name], about=[{"name": name, "type": "step", "label": label, "help": ""}])


# A way of its own for each item of a list.
STEP: About = {"type": "step", "label": "goes to", "help": ""}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of step. Its objects are parsed steps of a journey.

    `title`, `icon` and `does` tell authors what it does, and the `examples` (steps without `type`) how it is written,
    with all its fields. Together, the examples of all kinds form a journey. Its fields say how they are written
    (engage/json/described.py).

    No ABC, without which mypy finds what a kind lacks as well: walks ask each step of which kind it is, and of ABCs
    that takes five times as long.
    """

    id: str

    type: ClassVar[str]
    title: ClassVar[str]
    icon: ClassVar[str]  # of Material Symbols
    does: ClassVar[str]
    examples: ClassVar[Sequence[Mapping[str, Any]]]
    knows: ClassVar[Names] = {}  # what its templates may begin with, beside what those of all kinds may

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        """The step as it is written. Raises InvalidSteps."""
        step = replace(step, names={**step.names, **cls.knows}) if cls.knows else step
        with Reading() as read:
            parts = step.fields(**names_of(cls)._asdict(), reading=read)
            values = read_values(cls, step, parts, read)
        return cls(id=step.id, **values)

    @classmethod
    def kept_names(cls, step: Mapping[str, Any], kept_by: KeptBy) -> Names | None:
        """What later steps know of the step, as it is written, as `steps.<id>.<name>`; None: any name."""
        return {}

    @property
    @abstractmethod
    def label(self) -> str:
        """What it does, in a line of the drawing."""

    @abstractmethod
    def ways(self) -> Sequence[Way]:
        """All ways from it, in the order in which they are written."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The ids of the steps to which it leads."""
        return tuple(one.target for one in self.ways() if one.target not in (COMPLETED, EXITED))

    @property
    def paces_loops(self) -> bool:
        """Whether a loop through it is slow enough to be allowed."""
        return False

    @property
    def at_once(self) -> tuple[str, ...]:
        """The ids of the steps to which it may lead without a wait."""
        return () if self.paces_loops else self.targets

    @property
    def awaited(self) -> EventPattern | None:
        """The events that end it, if it waits for one."""
        return None


def examples_of(kind: type[Kind]) -> list[dict[str, Any]]:
    """The kind's examples as steps."""
    return [{"id": example["id"], "type": kind.type, **example} for example in kind.examples]
