"""What a workspace has that a definition may name: read when it is asked for, there until the transaction ends.

Whoever deletes one of these locks it first: so either a definition that names it is found, or finds it gone.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from engage.database.sql import Statement

_VARIABLES = Statement("SELECT name FROM journeys_variable WHERE workspace_id = {workspace_id} FOR KEY SHARE")


@dataclass(frozen=True)
class KnownInWorkspace:
    """The names in this workspace."""

    workspace_id: str

    @cached_property
    def variables(self) -> Collection[str]:
        return frozenset(_VARIABLES.column(workspace_id=self.workspace_id))
