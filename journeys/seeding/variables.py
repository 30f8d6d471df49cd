"""The `variables` of a seed file."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engage.json.documents import Part
from engage.models import Workspace
from journeys.connections.variables import (
    InvalidVariable,
    VariableInUse,
    check_variable,
    delete_variable,
    save_variable,
)
from journeys.models import Variable
from journeys.seeding.reading import InvalidSeed


def read_variables(part: Part) -> dict[str, Any]:
    """`{"shop": "Garden", "colours": ["green"], "old": null}`: null takes one away. Raises InvalidSeed."""
    values = {name: member.value for name, member in part.members().items()}
    for name, value in values.items():
        try:
            check_variable(Variable(name=name, value="" if value is None else value))
        except InvalidVariable as invalid:
            raise InvalidSeed(f"variables.{name}: {invalid.message}") from None
    return values


def seed_variables(*, workspace: Workspace, values: Mapping[str, Any], now: datetime) -> dict[str, str]:
    """Makes them or gives them other values; their ids by name. Raises InvalidSeed."""
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return {
            name: save_variable(workspace=workspace, name=name, value=value, now=now)[0].id
            for name, value in given.items()
        }
    except InvalidVariable as invalid:
        raise InvalidSeed(f"variables: {invalid.message}") from None


def take_variables_away(*, workspace: Workspace, values: Mapping[str, Any]) -> None:
    """Deletes those whose value is null, once the journeys of the file are saved. Raises InvalidSeed for one in use."""
    gone = [name for name, value in values.items() if value is None]
    for variable in Variable.objects.filter(workspace=workspace, name__in=gone):
        try:
            delete_variable(variable)
        except VariableInUse as used:
            raise InvalidSeed(f"variables.{variable.name}: {used.message}") from None
