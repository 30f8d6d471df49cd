"""A definition that is learned from what was recorded, shown as what it changes, for a person to save."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest

from bridge.messages.learning import learned
from bridge.messages.recorded import recorded_lately
from bridge.models import Interaction, Message
from customers.models import Customer, Event
from engage.admin.columns import may_view
from engage.admin.differences import DiffLine, diff_of


def may_learn(request: HttpRequest) -> bool:
    """Whether this member of staff may see what was recorded: a definition tells of it."""
    return all(may_view(model, request=request) for model in (Interaction, Event, Customer))


def learned_of(message: Message, *, now: datetime) -> tuple[dict[str, Any], Sequence[DiffLine]]:
    """The definition with what was recorded in the last seven days, and how it differs from the stored one."""
    actions, forms = learned(actions=message.actions, forms=message.forms, recorded=recorded_lately(message, now=now))
    stored, proposed = {"actions": message.actions, "forms": message.forms}, {"actions": actions, "forms": forms}
    return proposed, diff_of(stored, proposed)
