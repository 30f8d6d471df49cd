"""What journeys and steps say they are about, as they are saved; and what a dry run tells of it."""

from typing import Any

import pytest
from django.utils import timezone

from customers.contact.reach import rules_of
from customers.contact.topics import TOPICS, TopicInUse
from customers.models import Customer, Topic
from engage.models import Workspace
from journeys.engine.entering.dry_runs import rehearse_journey
from journeys.journey.authoring import InvalidJourney, save_journey
from tests.journeys.connections.made import STEP, connect, journey_of

pytestmark = [pytest.mark.django_db, pytest.mark.ada(email="ada@example.com")]
PLACES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"topic": "news"}, "topic is 'news'"),
    ({"topic": "news"}, {}, "steps[0].topic is 'news'"),
    ({"purpose": "fun"}, {}, "steps[0].purpose must be one of"),
    ({"window": {"from": "9", "until": "20:00"}}, {}, "steps[0].window.from must be a time of day"),
    ({"window": {"from": "09:00"}}, {}, "steps[0].window.until is"),
    ({}, {"on_opt_out": "stay"}, "onOptOut"),
]


@pytest.fixture(autouse=True)
def _offers(acme: Workspace) -> None:
    connect(acme, "https://mail.example/send", channel="email")
    TOPICS.save(workspace=acme, key="offers", now=timezone.now(), channels=["email"], default="opted_out")


@pytest.mark.parametrize(("step", "fields", "message"), PLACES)
def test_a_mistake_names_its_place(acme: Workspace, step: Any, fields: Any, message: str) -> None:
    with pytest.raises(InvalidJourney) as refused:
        journey_of(acme, {**STEP, **step}, **fields)
    assert refused.value.message.startswith(message)


def test_who_says_nothing_is_warned_and_refused_where_a_topic_is_required(acme: Workspace) -> None:
    def saved(key: str, **fields: Any) -> list[str]:
        step = {**STEP, **{name: fields.pop(name) for name in ("purpose",) if name in fields}}
        found = save_journey(workspace=acme, key=key, now=timezone.now(), steps=[step], **fields)
        return [warning.place for warning in found.warnings]

    assert saved("silent") == ["steps[0]"]
    assert saved("about", topic="offers") == saved("receipt", purpose="transactional") == []
    rules = rules_of(acme.id)
    rules.policy = {"requireTopic": True}
    rules.save()
    with pytest.raises(InvalidJourney, match=r"steps\[0\] writes to people"):
        saved("another")
    assert saved("silent", name="What is stored goes on") == ["steps[0]"]
    with pytest.raises(TopicInUse, match="the journey about"):
        TOPICS.delete(Topic.objects.get())


def test_a_dry_run_tells_who_would_be_skipped(acme: Workspace, ada: Customer) -> None:
    journey = journey_of(acme, STEP, topic="offers")
    path = rehearse_journey(journey=journey, customer=ada, payload={"n": 1}, now=timezone.now())
    record = path.steps[0].step_record
    assert (record.state, record.detail) == (
        "skipped", "Nothing is known of their will about 'offers'; its default is opted_out.",
    )  # fmt: skip
