"""Double opt-in: who has requested something is told by an event, so that a journey can ask them whether it was they.

Whoever requests it again within a day, as by sending a form again, is not asked again: others may know the address.
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from django.db import transaction

from customers.contact.consent import State
from customers.contact.ledger import Change
from customers.event_rules import CONFIRMATION_WANTED
from customers.events import NewEvent
from customers.models import Event
from journeys.engine.wakeups import wake
from journeys.engine.walking.reactions import record_and_react

_NOT_AGAIN = timedelta(days=1)


def ask_to_confirm(changes: Sequence[Change]) -> None:
    """Records the events, and what they lead to, in the transaction of the acts; workers are woken after the commit."""
    asked = [one for one in changes if one.after.state is State.REQUESTED and not _asked_lately(one)]
    if asked:
        due = record_and_react([_event(one) for one in asked])
        transaction.on_commit(partial(wake, due), robust=True)


def _asked_lately(change: Change) -> bool:
    before, since = change.before, change.after.since
    if before.state is not State.REQUESTED or before.since is None or since is None:
        return False
    return since - before.since < _NOT_AGAIN


def _event(change: Change) -> NewEvent:
    return NewEvent(
        workspace_id=change.workspace_id,
        customer_id=change.about.customer_id,
        name=CONFIRMATION_WANTED,
        properties={"topic": change.about.topic, "channel": change.about.channel},
        source=Event.Source.JOURNEY,
        chain=1,
        verified=True,
    )
