"""A step as it is written in a journey's definition, and what every type of step is read with."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from engage.documents import Part
from engage.errors import Refusal

LONGEST_ID = 100


class InvalidSteps(Refusal):
    """The steps are no definition that a customer could walk; the message names the place."""

    error = "Invalid steps"
    code = "invalid_steps"


@dataclass(frozen=True)
class WrittenStep:
    """One step that is being read: its id, the step that stands after it (None: it is the last), and all ids."""

    part: Part
    id: str
    following: str | None
    ids: Collection[str]

    def fields(self, *, required: Collection[str] = (), optional: Collection[str] = ()) -> dict[str, Part]:
        """The fields of its type; `id`, `type` and `next` may stand in every step."""
        return self.part.fields(required=["id", "type", *required], optional=[*optional, "next"])

    def next(self) -> str | None:
        """The id of the step that comes next, None for the end: as `next` says, else the one that stands after it."""
        written = self.part.members().get("next")
        return self.following if written is None else self.target(written)

    def target_in(self, fields: Mapping[str, Part], name: str) -> str | None:
        """The id of the step that this field leads to; where it is left out, that of the one that comes next."""
        return self.target(fields[name]) if name in fields else self.next()

    def target(self, part: Part) -> str | None:
        """The id of a step of the same journey, or null for the end."""
        if part.is_null:
            return None
        step_id = part.text(at_most=LONGEST_ID)
        if step_id not in self.ids:
            part.refuse(f"is {step_id!r}, but no step has this id.")
        return step_id

    def place_of(self, part: Part) -> str:
        """Where a part of this step stands in it: `body.user.name`."""
        return part.place.removeprefix(f"{self.part.place}.")
