"""The ids in the paths of the calls about journeys, with those of examples."""

from dataclasses import replace

from customers.api.path_ids import ADA, BOB
from engage.calls.call import PathId
from journeys.engine.entering.trigger import JourneyNotFound, journey_id_of_key, own_journey
from journeys.engine.jobs.trigger_states import TriggerNotFound, journey_of_trigger, own_trigger
from journeys.rules.job_ids import job_id


def _itself(*, workspace_id: str, journey_id: str) -> str:
    return journey_id


JOURNEY_ID = PathId(
    name="journeyId",
    description="The journey's id, or its key.",
    example="68a1f0c2e4b0a1d2c3e4f502",
    missing=JourneyNotFound,
    journey_of=_itself,
    id_of_key=journey_id_of_key,
)
ANY_JOURNEY = replace(
    JOURNEY_ID,
    description="The journey's id, or its key. The journey may be inactive.",
    find=own_journey,
    finds="journey",
)
TRIGGER_ID = PathId(
    name="triggerId",
    description="The `triggerId` of the call.",
    example="6a0b1c2de4b0a1d2c3e4f503",
    missing=TriggerNotFound,
    journey_of=journey_of_trigger,
    find=own_trigger,
    finds="trigger",
)
ADAS_JOB, BOBS_JOB = (
    job_id(journey_id=JOURNEY_ID.example, customer_id=who, queued_ms=1795201680123) for who in (ADA, BOB)
)
