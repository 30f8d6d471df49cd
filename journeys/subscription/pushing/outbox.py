"""Pushes as the sender of webhooks takes them: cut, claimed, given back and written."""

import time
from collections.abc import Sequence

from journeys.engine.webhooks.claims import ClaimedDelivery
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.results import AttemptResult
from journeys.models import Subscription
from journeys.subscription.pushing.claims import claim_pushes, release_pushes
from journeys.subscription.pushing.cutting import cut_pushes
from journeys.subscription.pushing.results import write_pushes

_SECONDS_BETWEEN_LOOKS = 0.5  # where the last one found nothing; also how long less than a batch waits for more


class Outbox:
    """Of one turn of a sender, which begins every second where nothing is to be sent."""

    def __init__(self) -> None:
        self._next_look = self._next_part = 0.0

    def claim(self, slots: HostSlots) -> Sequence[ClaimedDelivery]:
        now = time.monotonic()
        if now < self._next_look:
            return []
        self._next_look = now + _SECONDS_BETWEEN_LOOKS  # also if this fails
        if not Subscription.objects.exists():
            return []
        whole = now < self._next_part
        if not whole:
            self._next_part = now + _SECONDS_BETWEEN_LOOKS
        cut = cut_pushes(whole=whole)
        claimed = claim_pushes(slots)
        if cut or claimed:
            self._next_look = 0.0
        return claimed

    def release(self, unsent: Sequence[ClaimedDelivery]) -> None:
        release_pushes(unsent)

    def write(self, results: Sequence[AttemptResult]) -> None:
        write_pushes(results)
        self._next_look = 0.0
