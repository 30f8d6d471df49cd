"""The variables of a workspace: what is saved holds at once, and what a definition reads is not deleted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from engage.errors import Refusal
from engage.json.compact import json_bytes
from engage.json.documents import Part
from engage.json.storable import depth, unstorable
from engage.notations.sizes import KIB
from engage.resources.definitions import DefinitionInvalid
from engage.resources.fields import KEY, Described, Fields, Item
from engage.resources.resource import CallTexts, DefinitionMissing, InvalidDefinition, Resource
from journeys.engine.connections.using import readers_of
from journeys.models import Variable

MOST_BYTES, DEEPEST = 64 * KIB, 10


@dataclass(frozen=True, kw_only=True)
class VariableFields(Fields):
    """A variable."""

    key: Annotated[str, "The name, as in the path; may be left out."] = ""
    value: Annotated[Any, "Any JSON but null. No secret: everybody reads it. Required."] = None


class VariableNotFound(DefinitionMissing):
    """No such variable in the workspace."""

    error = "Variable not found"


class VariableInUse(Refusal):
    """The variable cannot be deleted: definitions read it."""

    status = 409
    error = "Variable in use"


class Variables(Resource[Variable]):
    """Values that templates read as `vars.<name>`."""

    model, fields, section, at_most = Variable, VariableFields, "variables", 200
    missing = VariableNotFound
    named_by = "name"
    named_by_journeys = True
    calls = CallTexts(
        put="""Create or change a variable

        The value holds at once, wherever templates read `vars.<name>`.
        """,
        get="""Read a variable

        Returns the variable's value.
        """,
        delete="""Delete a variable

        Deletes the variable, unless definitions read it.
        """,
        example={"key": "shop", "value": "Garden"},
        example_id="68a1f0c2e4b0a1d2c3e4f5d1",
        requests={"A text": {"value": "Garden"}},
        changed=["value"],
        refuses=[DefinitionInvalid("value is required.")],
        refuses_to_delete=[VariableInUse("The variable shop is read by welcome; it cannot be deleted.")],
    )
    checked_apart = frozenset({"value"})

    def items(self, section: Part) -> list[Part]:
        """Of a file: `{"shop": "Garden", "colours": ["green"], "old": null}`."""
        return [replace(one, value={KEY: name, "value": one.value}) for name, one in section.members().items()]

    def packed(self, items: Sequence[Item]) -> Any:
        return {item[KEY]: item["value"] for item in items}

    def takes_away(self, described: Described) -> bool:
        return described.changes.get("value") is None

    def column_mistakes(self, row: Variable) -> Iterator[Refusal]:
        """A variable is one value, so its mistakes need no place."""
        for one in super().column_mistakes(row):
            yield InvalidDefinition(one.remark).at(one.place)

    def mistakes(self, row: Variable) -> Iterator[Refusal]:
        if row.value is None:
            yield InvalidDefinition("A variable has a value; delete it to take it away.").at("value")
        elif depth(row.value) > DEEPEST or json_bytes(row.value) > MOST_BYTES:
            message = f"At most {MOST_BYTES // KIB} KiB of JSON, nested {DEEPEST} deep."
            yield InvalidDefinition(message).at("value")
        elif problem := unstorable(row.value):
            yield InvalidDefinition(f"It holds {problem}.").at("value")

    def require_unused(self, row: Variable) -> None:
        """A connection may read it, or a journey that is active or has somebody inside."""
        if used := readers_of(workspace_id=row.workspace_id, variable=row.name):
            raise VariableInUse(f"The variable {row.name} is read by {', '.join(used)}; it cannot be deleted.")


VARIABLES = Variables()
