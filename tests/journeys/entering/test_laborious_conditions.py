"""Entry conditions that work for long over a large payload cost others a turn of bounded length, and are decided."""

import pytest

from engage.models import Workspace
from journeys.engine.entering import settling
from journeys.engine.entering.lanes import serve_lane
from journeys.models import Chunk, EnrollmentJob
from journeys.rules.failures import MAX_ATTEMPTS
from tests.support.calls import data, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import JourneyFactory, crowd

pytestmark = pytest.mark.django_db(transaction=True)
LABORIOUS = {"any": [{"field": "api.payload.list", "op": "contains", "value": number} for number in range(2, 102)]}
PAYLOAD = {"list": [1] * 3_000}


def turn() -> None:
    serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)
    time_passes(minutes=1)


def test_a_chunk_that_takes_too_long_is_split_until_a_job_stands_alone(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where even that takes too long, it is given up as any other."""
    journey = JourneyFactory.create(workspace=acme, entry_conditions=LABORIOUS)
    monkeypatch.setattr(settling, "SECONDS_TOGETHER", 0.02)
    data(trigger(server, journey, {"external_ids": crowd(acme, 4), "payload": PAYLOAD}))
    turn()
    assert "canceling statement due to statement timeout" in Chunk.objects.get().error
    for _ in range(20):
        turn()
    jobs = EnrollmentJob.objects.values_list("result", flat=True)
    assert list(jobs) == ["conditions_not_met"] * 4
    for bound in ("SECONDS_TOGETHER", "SECONDS_ALONE"):
        monkeypatch.setattr(settling, bound, 0.001)
    data(trigger(server, journey, {"external_ids": ["user-0"], "payload": PAYLOAD}))
    for _ in range(MAX_ATTEMPTS + 1):
        turn()
    assert EnrollmentJob.objects.latest("id").reason.startswith(f"Given up after {MAX_ATTEMPTS} attempts: Operational")
