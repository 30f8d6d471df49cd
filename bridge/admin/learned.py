"""A definition that is learned from what was recorded, shown as what it changes, for a person to save."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import unified_diff
from typing import Any

from django.http import HttpRequest

from bridge.messages.learning import learned
from bridge.messages.recorded import recorded_lately
from bridge.models import Interaction, Message
from customers.models import Customer, Event
from engage.admin.columns import json_text, may_view

_HEADERS = 2  # lines of a unified diff that name the files


@dataclass(frozen=True, kw_only=True)
class DiffLine:
    """A line of a diff. `kind` is added, removed, kept or place."""

    kind: str
    text: str


def may_learn(request: HttpRequest) -> bool:
    """Whether this member of staff may see what was recorded: a definition tells of it."""
    return all(may_view(model, request=request) for model in (Interaction, Event, Customer))


def learned_of(message: Message, *, now: datetime) -> tuple[dict[str, Any], Sequence[DiffLine]]:
    """The definition with what was recorded in the last seven days, and how it differs from the stored one."""
    actions, forms = learned(actions=message.actions, forms=message.forms, recorded=recorded_lately(message, now=now))
    stored, proposed = {"actions": message.actions, "forms": message.forms}, {"actions": actions, "forms": forms}
    return proposed, _diff(json_text(stored), json_text(proposed))


_KINDS = {"+": "added", "-": "removed", "@": "place"}


def _diff(before: str, after: str) -> list[DiffLine]:
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[_HEADERS:]
    return [DiffLine(kind=_KINDS.get(line[0], "kept"), text=line) for line in lines]
