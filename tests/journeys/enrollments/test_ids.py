"""An enrollment's id comes from its job's, and nobody makes it of what they know."""

from typing import Any

import pytest
from pytest_django import Settings

from engage.database.object_ids import is_object_id
from journeys.engine.enrollments.ids import LATEST, EnrollmentIds

JOB: dict[str, Any] = {"trigger_id": "6b00b1b1aa4223798a14fef0", "ordinal": 8192, "due_ms": 1.7e12, "waited": 3.0}


def test_it_is_the_same_whenever_the_job_is_decided_and_begins_with_when_that_was_due(settings: Settings) -> None:
    settings.SECRET_KEY = "one"
    its_id = EnrollmentIds().of(**JOB)
    assert (is_object_id(its_id), int(its_id[:8], 16)) == (True, 1_700_000_000)
    assert EnrollmentIds().of(**{**JOB, "waited": LATEST.total_seconds() - 1}) == its_id
    late = EnrollmentIds().of(**{**JOB, "waited": LATEST.total_seconds()})
    assert (late[8:], late[:8] > its_id[:8]) == (its_id[8:], True)


@pytest.mark.parametrize("other", [{"trigger_id": "6b00b1b1aa4223798a14fef1"}, {"ordinal": 8193}, {}])
def test_another_job_or_another_key_makes_another_digest(other: dict[str, Any], settings: Settings) -> None:
    settings.SECRET_KEY = "one"
    before = EnrollmentIds().of(**JOB)
    settings.SECRET_KEY = "one" if other else "two"
    assert EnrollmentIds().of(**{**JOB, **other})[10:] != before[10:]
