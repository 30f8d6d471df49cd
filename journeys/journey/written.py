"""Definitions as the items of a seed file, with every field that the file may name: what is stored, written out.

Secrets stand in them as they are: whoever shows an item masks it.
"""

from collections.abc import Iterable

from engage.resources.fields import Item
from journeys.journey.fields import SPELLINGS
from journeys.models import Journey, JourneyRevision

_OF_EVENTS = frozenset({"event_name", "event_where", "event_from_bridge"})


def written_journeys(journeys: Iterable[Journey]) -> list[Item]:
    """The journeys with their current steps and exit rules; one statement for all of them."""
    known = {journey.id: journey for journey in journeys}
    revisions = JourneyRevision.objects.filter(journey__in=list(known))
    current = {one.journey_id: one for one in revisions if one.number == known[one.journey_id].revision}
    return [_written_journey(journey, current.get(journey.id)) for journey in known.values()]


def _written_journey(journey: Journey, revision: JourneyRevision | None) -> Item:
    content = revision.written if revision else {"steps": [], "exit_on": []}
    left_out = _OF_EVENTS if journey.trigger_type == Journey.TriggerType.API else frozenset[str]()
    return {
        spelling: content[name] if name in content else getattr(journey, name)
        for name, spelling in SPELLINGS.items()
        if name not in left_out
    }
