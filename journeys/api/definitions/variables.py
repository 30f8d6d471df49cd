"""Variables, each with its value."""

from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId
from engage.calls.queries import DryRun
from journeys.api.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
    VariableBody,
)
from journeys.api.definitions.calls import Calls
from journeys.connections.variables import VariableInUse
from journeys.seeding import kinds
from journeys.seeding.definitions import DefinitionInvalid

_VARIABLE = PathId(name="key", description="The variable's name.", example="shop", missing=kinds.VariableNotFound)

_SHOP = {"key": "shop", "value": "Garden"}

_VARIABLES = Calls(
    kind=kinds.VARIABLES,
    path="variables/{workspaceId}/{key}",
    id=_VARIABLE,
    example_id="68a1f0c2e4b0a1d2c3e4f5d1",
    item=_SHOP,
)


@_VARIABLES.put(
    requests={"A text": {"value": "Garden"}},
    changed=["value"],
    refuses=[DefinitionInvalid("value is required.")],
)
def put_variable(asked: Asked[VariableBody, DryRun], key: str) -> Answered[PutDefinitionRecord]:
    """Create or change a variable

    The value holds at once, wherever templates read `vars.<name>`.
    """
    return _VARIABLES.write(asked, key)


@_VARIABLES.get()
def get_variable(asked: Asked[None, None], key: str) -> Answered[DefinitionRecord]:
    """Read a variable

    Returns the variable's value.
    """
    return _VARIABLES.read(asked, key)


@_VARIABLES.delete(VariableInUse("The variable shop is read by welcome; it cannot be deleted."))
def delete_variable(asked: Asked[None, None], key: str) -> DefinitionDeleted:
    """Delete a variable

    Deletes the variable, unless definitions read it.
    """
    return _VARIABLES.take_away(asked, key)
