"""A secret is written once: it is shown as ***, which means *as stored* for the same step and the same host only."""

from typing import Any

import pytest
from django.utils import timezone

from engage.models import Workspace
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.journey.keeping import duplicate_journey, roll_back
from journeys.models import Journey, JourneyRevision
from journeys.steps.secrets import as_stored, masked, steps_masked_beside

pytestmark = pytest.mark.django_db
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer hush", "X-Shop": "hush {{ journey.id }}"}
CALL: dict[str, Any] = {"id": "call", "type": "webhook", "url": "https://mail.example/send", "headers": HEADERS}
SHOWN = {"Content-Type": "application/json", "Authorization": "***", "X-Shop": "***"}
MASKED = {**CALL, "headers": SHOWN}
VOUCHED_UNTIL = (
    "https://mail.example.org/send",
    "https://mail.example:8443/send",
    "http://mail.example/send",
    "http://mail.example:443/send",
)


def save(workspace: Workspace, steps: Any, key: str = "welcome") -> Journey:
    return save_journey(workspace=workspace, key=key, now=timezone.now(), steps=steps).journey


def headers_of(journey: Journey) -> Any:
    return JourneyRevision.objects.filter(journey=journey).latest("number").steps[0]["headers"]


def refused(workspace: Workspace, steps: Any, key: str = "welcome") -> list[tuple[str, str, int]]:
    with pytest.raises(InvalidJourney) as found:
        save(workspace, steps, key)
    return [(one.message.split()[0], one.code, one.status) for one in found.value.all_found()]


def test_a_mask_keeps_what_is_stored_of_the_same_step_at_the_same_host(acme: Workspace, rival: Workspace) -> None:
    journey = save(acme, [CALL])
    save(acme, [{**MASKED, "url": "https://MAIL.example:443/other?x={{ now }}", "method": "PUT"}])
    assert headers_of(journey) == HEADERS
    save(acme, [{**MASKED, "headers": {**SHOWN, "X-Shop": "new"}}])
    assert headers_of(journey) == {**HEADERS, "X-Shop": "new"}
    lacking = [
        ("steps[0].headers.Authorization", "secret_needed", 422),
        ("steps[0].headers.X-Shop", "secret_needed", 422),
    ]
    for url in VOUCHED_UNTIL:
        assert refused(acme, [{**MASKED, "url": url}]) == lacking, url
    assert refused(acme, [{**MASKED, "id": "other"}]) == lacking
    assert refused(acme, [MASKED], key="other") == lacking
    assert refused(rival, [MASKED]) == lacking
    assert refused(acme, [{**MASKED, "headers": {"X-Third": "***"}}]) == [
        ("steps[0].headers.X-Third", "secret_needed", 422)
    ]
    assert headers_of(journey) == {**HEADERS, "X-Shop": "new"}
    assert not Journey.objects.filter(workspace=rival).exists()


def test_a_copy_and_a_rollback_have_the_secrets_of_their_own_hosts(acme: Workspace) -> None:
    journey = save(acme, [CALL])
    copy = duplicate_journey(journey, key="copy", now=timezone.now())
    assert headers_of(copy) == HEADERS
    assert refused(acme, [{**MASKED, "url": VOUCHED_UNTIL[0]}], key="copy")[0][1] == "secret_needed"
    save(acme, [{**CALL, "url": VOUCHED_UNTIL[0], "headers": {"Authorization": "theirs"}}])
    journey.refresh_from_db()
    assert headers_of(roll_back(journey, number=1, now=timezone.now()).journey) == HEADERS


def test_all_that_is_secret_in_a_request_is_masked_and_found_again() -> None:
    request = {
        "url": "https://a.example/T0/hush",
        "secretUrl": True,
        "auth": {"basic": {"user": "hush", "password": "hush"}},
        "headers": {"X": "hush", "Content-Type": "text/plain"},
    }
    shown = masked(request)
    assert "hush" not in repr(shown)
    assert as_stored(shown, request) == request
    other = {**shown, "url": "https://b.example/", "secretUrl": False}
    assert as_stored(other, request) == other
    assert as_stored(shown, None) == shown
    missing = {"url": "https://a.example/", "headers": {"X": None}}
    assert masked(missing) == missing
    for odd in (None, 7, [1], [{"headers": "hush", "auth": ["hush"]}], [{"headers": {"X": {"env": "hush"}}, "url": 1}]):
        assert "hush" not in repr(steps_masked_beside(odd, odd))
        assert as_stored(odd, odd) == odd
