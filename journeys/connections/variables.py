"""The variables of a workspace: what is saved holds at once, and what a definition reads is not deleted."""

from datetime import datetime
from typing import Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction

from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record, saved
from engage.errors import Refusal
from engage.json.compact import json_bytes, same_json
from engage.json.storable import depth, unstorable
from engage.models import AuditEntry, Workspace
from engage.sizes import KIB
from journeys.connections.using import readers_of
from journeys.models import Variable

MOST_VARIABLES, MOST_BYTES, DEEPEST = 200, 64 * KIB, 10


class InvalidVariable(Refusal):
    """A variable cannot be as described; `field` is name or value."""

    error = "Invalid variable"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field, self.place = field, field


class VariableInUse(Refusal):
    """The variable cannot be deleted: definitions read it."""

    status = 409
    error = "Variable in use"


def check_variable(variable: Variable) -> None:
    """Raises InvalidVariable."""
    try:
        variable.clean_fields(exclude={"workspace"} | ({"value"} if variable.value in ("", [], {}) else set()))
    except ValidationError as invalid:
        field, messages = next(iter(invalid.message_dict.items()))
        raise InvalidVariable(field, messages[0]) from None
    if variable.value is None:
        raise InvalidVariable("value", "A variable has a value; delete it to take it away.")
    if depth(variable.value) > DEEPEST or json_bytes(variable.value) > MOST_BYTES:
        raise InvalidVariable("value", f"At most {MOST_BYTES // KIB} KiB of JSON, nested {DEEPEST} deep.")
    if problem := unstorable(variable.value):
        raise InvalidVariable("value", f"It holds {problem}.")


@transaction.atomic
def save_variable(
    *, workspace: Workspace, name: str, value: Any, now: datetime
) -> tuple[Variable, Literal["created", "changed", "unchanged"]]:
    """Makes the variable or gives it another value. Raises InvalidVariable; then nothing is written."""
    check_variable(Variable(workspace=workspace, name=name, value=value))
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)  # one more at a time, so that it is counted
    own = Variable.objects.filter(workspace=workspace)
    found = own.filter(name=name).first()
    if found is None and own.count() >= MOST_VARIABLES:
        raise InvalidVariable("name", f"A workspace has at most {MOST_VARIABLES} variables.")
    before = None if found is None else facts_of(found)
    variable = found or Variable(workspace=workspace, name=name)
    if found is not None and same_json(found.value, value):
        return variable, "unchanged"
    variable.value, variable.updated_at = value, now
    variable.save()
    record(*saved(variable, before=before, after=facts_of(variable)))
    return variable, "created" if before is None else "changed"


@transaction.atomic
def delete_variable(variable: Variable) -> None:
    """Deletes it. Raises VariableInUse if a connection reads it, or a journey that is active or has somebody inside."""
    list(Variable.objects.select_for_update().filter(pk=variable.pk))  # whoever saves a definition waits, or is seen
    if used := readers_of(workspace_id=variable.workspace_id, variable=variable.name):
        raise VariableInUse(f"The variable {variable.name} is read by {', '.join(used)}; it cannot be deleted.")
    gone = change(AuditEntry.Action.DELETED, variable, changes=changes_between(facts_of(variable), {}))
    variable.delete()
    record(gone)
