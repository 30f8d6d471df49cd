"""What is done with a journey as a whole: it is archived and restored, duplicated, and rolled back to a revision."""

from datetime import datetime
from typing import Any

from django.db import transaction

from engage.resources.fields import KEY
from journeys.engine.steering.acts import record_act
from journeys.engine.steering.holding import locked
from journeys.journey.authoring import InvalidJourney, SavedJourney, save_journey
from journeys.journey.fields import SPELLINGS
from journeys.models import Journey, JourneyRevision, SteeringAct

_CONTENT = ("steps", "exit_on")


@transaction.atomic
def archive_journey(journey: Journey, *, actor: str, now: datetime) -> bool:
    """Hides the journey and closes it: calls are answered as for any that is. Whoever is inside goes on.
    What is scheduled is decided as where it is closed.

    Returns whether it was not archived before.
    """
    if locked(journey).archived_at is not None:
        return False
    Journey.objects.filter(id=journey.id).update(active=False, archived_at=now, updated_at=now)
    record_act(SteeringAct.Kind.CLOSE, journey, actor=actor, reason="Archived.")
    return True


def restore_journey(*, workspace_id: str, journey_id: str, now: datetime) -> bool:
    """Shows the journey again, switched off as it is. Returns whether it was archived."""
    archived = Journey.objects.filter(workspace_id=workspace_id, id=journey_id, archived_at__isnull=False)
    return bool(archived.update(archived_at=None, updated_at=now))


@transaction.atomic
def duplicate_journey(journey: Journey, *, key: str, now: datetime) -> Journey:
    """Makes a journey like this one, with its current steps, under another key and switched off.

    Raises InvalidJourney, also if the workspace has a journey with this key; then nothing is written.
    """
    own = {name: getattr(journey, name) for name in SPELLINGS if name not in (KEY, *_CONTENT)}
    kept = own | _content(journey, journey.revision)
    changes = kept | {"active": False, "managed_by": None, "name": f"{journey.name} (copy)"[:200]}
    made = save_journey(workspace=journey.workspace, key=key, now=now, **changes)
    if made.outcome != "created":
        raise InvalidJourney("key", f"key: the workspace has a journey with the key {key} already.")
    return made.journey


def roll_back(journey: Journey, *, number: int, now: datetime) -> SavedJourney:
    """Makes a new revision with the steps and exit rules of an earlier one; none where they are the current ones.

    Raises InvalidJourney if these may not be saved any more, or if there is no such revision.
    """
    content = _content(journey, number)
    return save_journey(workspace=journey.workspace, key=journey.key, now=now, **content)


def _content(journey: Journey, number: int) -> dict[str, Any]:
    revision = JourneyRevision.objects.filter(journey=journey, number=number).first()
    if revision is None:
        raise InvalidJourney("revision", f"revision: there is no revision {number}.")
    return revision.written
