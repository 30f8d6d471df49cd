"""What the calls about definitions take and answer: items of a seed file, as they are sent and as they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from engage.calls.queries import DryRun
from engage.database.object_ids import ObjectId
from engage.json.fields import LEFT_OUT
from engage.resources.resource import DefinitionWarning
from journeys.engine.steering.moving import Moving


@dataclass(frozen=True, kw_only=True)
class JourneyQuery(DryRun):
    """Whether it is a dry run, and whether those inside are moved."""

    move_inside: Annotated[
        bool, "`true` to let those inside go on in the current revision, if their step is there."
    ] = False


@dataclass(frozen=True, kw_only=True)
class ConfirmedQuery(DryRun):
    """Whether it is a dry run, and whether journeys may be broken."""

    confirm: Annotated[bool, "`true` to change it although journeys could not send by it any more."] = False


@dataclass(frozen=True, kw_only=True)
class DefinitionRecord:
    """A definition as it is stored. Its ETag is over all of it, also over secrets."""

    # Not the name of its own field: a client of openapi-python-client would have one variable for both.
    schema_name: ClassVar = "StoredDefinition"

    id: ObjectId
    key: Annotated[str, "The key; of a variable its name."]
    definition: Annotated[
        Mapping[str, Any], "The item as a seed file has it, with all its fields; a secret is shown as `***`."
    ]
    warnings: Annotated[Sequence[DefinitionWarning], "What may not be meant, such as a step that cannot be reached."]


@dataclass(frozen=True, kw_only=True)
class PutDefinitionRecord:
    """A definition as the call leaves it, or would."""

    id: Annotated[ObjectId | None, "Null for a dry run that would create it."]
    key: Annotated[str, "The key; of a variable its name."]
    outcome: Literal["created", "changed", "unchanged"]
    changed: Annotated[Sequence[str], "The names of the fields that differ from what was stored."]
    inside: Annotated[int | None, "Of a journey that was there: how many are inside, who go on with their revision."]
    moving: Annotated[
        Moving | None, "With `moveInside`: who of those in older revisions go on in the current one.", LEFT_OUT
    ] = None
    dry_run: Annotated[bool, "Whether this is only what the call would do."] = False
    definition: Annotated[
        Mapping[str, Any], "The item as a seed file has it, with all its fields; a secret is shown as `***`."
    ]
    warnings: Annotated[Sequence[DefinitionWarning], "What may not be meant, such as a step that cannot be reached."]


@dataclass(frozen=True, kw_only=True)
class DefinitionDeleted:
    """The definition was deleted."""

    deleted: Literal[True] = True
