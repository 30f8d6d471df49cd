"""What a workspace has that a definition may name: read when it is asked for, there until the transaction ends.

Whoever deletes one of these locks it first: so either a definition that names it is found, or finds it gone.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from customers.models import ContactRules, Topic
from engage.database.sql import Statement
from journeys.engine.connections.messages import MESSAGES
from journeys.engine.connections.providers import provider_of
from journeys.models import Connection
from journeys.steps.inputs import Inputs

_VARIABLES = Statement("SELECT name FROM journeys_variable WHERE workspace_id = {workspace_id} FOR KEY SHARE")
_CONNECTION = Statement(
    "SELECT id FROM journeys_connection WHERE workspace_id = {workspace_id} AND key = {key} FOR KEY SHARE"
)


@dataclass(frozen=True)
class KnownInWorkspace:
    """The names in this workspace."""

    workspace_id: str
    _inputs: dict[str, Inputs | None] = field(default_factory=dict)

    @cached_property
    def variables(self) -> Collection[str]:
        return frozenset(_VARIABLES.column(workspace_id=self.workspace_id))

    @cached_property
    def topics(self) -> Collection[str]:
        return frozenset(Topic.objects.filter(workspace=self.workspace_id).values_list("key", flat=True))

    @cached_property
    def requires_topic(self) -> bool:
        """Whether what is saved has to say what it is about."""
        rules = ContactRules.objects.filter(workspace=self.workspace_id).first()
        return rules is not None and rules.policy.get("requireTopic") is True

    def connection(self, key: str) -> Inputs | None:
        """What the connection wants to be given."""
        if key not in self._inputs:
            found = _CONNECTION.column(workspace_id=self.workspace_id, key=key)
            self._inputs[key] = provider_of(Connection.objects.get(id=found[0])).inputs if found else None
        return self._inputs[key]

    def shows_message(self, key: str) -> bool:
        """Whether the message is active and has content."""
        return bool(MESSAGES.shown({(self.workspace_id, key)}))
