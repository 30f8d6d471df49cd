"""Time that passes in a test.

What waits is moved nearer, as if the clock of the database had gone on; what is made later gets a later id.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import time_machine
from django.db import connection
from django.utils import timezone

_WAITS = {
    "journeys_enrollment": ("due_at", "was_due_at", "watches_until", "claimed_until", "step_began_at", "entered_at"),
    "journeys_goalwatch": ("until",),
    "journeys_journey": ("held_at", "resumed_at", "next_release_at"),
    "journeys_webhookdelivery": ("due_at",),
    "journeys_webhookhost": ("failing_since", "open_until"),
    "journeys_webhookcircuit": ("failing_since", "open_until"),
    "journeys_chunk": ("due_at", "turn_at"),
}


def time_passes(**duration: float) -> None:
    """Moves every wait back by this much: `time_passes(days=1)`."""
    with connection.cursor() as cursor:
        for table, columns in _WAITS.items():
            moved = ", ".join(f"{column} = {column} - %s::interval" for column in columns)
            cursor.execute(f"UPDATE {table} SET {moved}", [str(timedelta(**duration))] * len(columns))


@contextmanager
def later(*, seconds: int = 1) -> Iterator[None]:
    """What is made here has ids after those made before, which alone say nothing within a second."""
    with time_machine.travel(timezone.now() + timedelta(seconds=seconds), tick=True):
        yield
