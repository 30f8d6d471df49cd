"""Variables, each with its value."""

from typing import Any

from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId
from engage.calls.queries import DryRun
from engage.scopes import Scope
from journeys.api.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
    VariableBody,
)
from journeys.api.definitions.calls import (
    REFUSED,
    UNSEEN,
    delete_call,
    get_call,
    put_call,
    put_examples,
    read,
    record_of,
    take_away,
    write,
)
from journeys.connections.variables import VariableInUse
from journeys.seeding import kinds
from journeys.seeding.definitions import DefinitionInvalid

_VARIABLE = PathId(name="key", description="The variable's name.", example="shop", missing=kinds.VariableNotFound)

_of_variables: dict[str, Any] = {
    "path": "variables/{workspaceId}/{key}",
    "scope": Scope.DEFINITIONS,
    "ids": [_VARIABLE],
}
_SHOP = {"key": "shop", "value": "Garden"}


@put_call(
    **_of_variables,
    requests={"A text": {"value": "Garden"}},
    examples=put_examples("68a1f0c2e4b0a1d2c3e4f5d1", _SHOP, changed=["value"], inside=None),
    refuses=[*REFUSED, DefinitionInvalid("value is required."), *UNSEEN],
)
def put_variable(asked: Asked[VariableBody, DryRun], key: str) -> Answered[PutDefinitionRecord]:
    """Create or change a variable

    The value holds at once, wherever templates read `vars.<name>`.
    """
    return write(kinds.VARIABLES, asked, key)


@get_call(**_of_variables, examples={"Found": record_of("68a1f0c2e4b0a1d2c3e4f5d1", _SHOP)})
def get_variable(asked: Asked[None, None], key: str) -> Answered[DefinitionRecord]:
    """Read a variable

    Returns the variable's value.
    """
    return read(kinds.VARIABLES, asked, key)


@delete_call(
    **_of_variables, refuses=[VariableInUse("The variable shop is read by welcome; it cannot be deleted."), *UNSEEN]
)
def delete_variable(asked: Asked[None, None], key: str) -> DefinitionDeleted:
    """Delete a variable

    Deletes the variable, unless definitions read it.
    """
    return take_away(kinds.VARIABLES, asked, key)
