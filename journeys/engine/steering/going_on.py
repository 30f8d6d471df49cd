"""Whatever an act left unfinished, because it takes long or its process died, goes on."""

import time

from django.db.models import Q

from engage.database.alone import alone
from journeys.engine.steering.aborting import exit_remaining
from journeys.engine.steering.moving import move_remaining
from journeys.engine.steering.releasing import release
from journeys.models import Journey


def go_on(*, seconds: float) -> bool:
    """Goes on with resumptions, aborts and moves, for about so long; returns whether it made anything due."""
    unfinished = Journey.objects.filter(
        Q(held_at__isnull=False, aborted_at__isnull=False) | Q(resumed_at__isnull=False) | Q(moves_to__isnull=False)
    ).order_by("?")
    until, released = time.monotonic() + seconds, 0
    for journey_id, moves_to in unfinished.values_list("id", "moves_to"):
        if (left := until - time.monotonic()) <= 0:
            break
        with alone("abort", journey_id=journey_id):
            exit_remaining(journey_id, seconds=left)
        with alone("resumption", journey_id=journey_id):
            released += release(journey_id, seconds=left)
        with alone("move", journey_id=journey_id):
            if moves_to is not None:
                move_remaining(journey_id, seconds=left)
    return released > 0
