"""The contact policy as it is written: what may stand there, and every mistake with its place."""

from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from customers.conditions import CustomerFacts, Facts
from customers.contact.policy import Clock, ContactPolicy, read_policy
from engage.errors import InvalidRequest
from engage.json.documents import Part

POLICY: dict[str, Any] = {
    "requireTopic": True,
    "timezone": {"from": "customer.timezone", "else": "Europe/Berlin"},
    "windows": [
        {"key": "day", "channels": ["sms", "push"], "days": ["mo", "sa"], "from": "09:00", "until": "20:00",
         "spread": "PT20M", "waitAtMost": "P1D"},
        {"key": "push", "channels": ["push"], "from": "22:00", "until": "02:00"},
    ],
    "caps": [
        {"key": "week", "channels": ["email", "push"], "topics": ["offers"], "atMost": 3, "per": "P7D"},
        {"key": "sms", "channels": ["sms"], "atMost": 1, "per": "P1D", "count": "calendar", "over": "wait",
         "waitAtMost": "P2D", "transactional": True},
    ],
}  # fmt: skip


def read(value: object, *, topics: tuple[str, ...] | None = ("offers",)) -> ContactPolicy:
    return read_policy(Part(value, "", InvalidRequest), topics=topics)


def mistakes(value: object) -> list[str]:
    with pytest.raises(InvalidRequest) as refused:
        read(value)
    return [one.message for one in refused.value.all_found()]


def test_it_is_read_with_its_defaults() -> None:
    policy = read(POLICY)
    assert policy.require_topic
    day, late = policy.rules.windows["push"]
    assert policy.rules.windows["sms"] == [day]
    assert (day.opens, day.closes, day.days, day.spread) == (
        time(9),
        time(20),
        frozenset({0, 5}),
        timedelta(minutes=20),
    )
    assert (late.key, late.days, late.wait_at_most) == ("push", frozenset(), None)
    week, sms = policy.rules.caps
    assert (week.count, week.over, week.transactional, week.topics) == ("rolling", "skip", False, frozenset({"offers"}))
    assert (sms.count, sms.over, sms.transactional, sms.topics) == ("calendar", "wait", True, None)
    assert read({}) == ContactPolicy()


def test_whose_clock_counts() -> None:
    def zone(written: object, attributes: dict[str, object]) -> object:
        customer = CustomerFacts(id="a", external_id="a", email=None, phone=None, user_id=None, attributes=attributes)
        clock: Clock = read({"timezone": written}).clock
        return clock.zone_for(customer, Facts(customer=customer, now=datetime(2026, 1, 1, tzinfo=UTC)))

    by_field = POLICY["timezone"]
    assert zone("Asia/Tokyo", {"timezone": "Europe/Paris"}) == ZoneInfo("Asia/Tokyo")
    assert zone(by_field, {"timezone": "america/new_york"}) == ZoneInfo("America/New_York")
    others: list[dict[str, object]] = [{}, {"timezone": "Nowhere"}, {"timezone": 7}]
    for lost in others:
        assert zone(by_field, lost) == ZoneInfo("Europe/Berlin")


def _with(part: str, **changed: object) -> dict[str, Any]:
    first, *others = POLICY[part]
    return {**POLICY, part: [{name: value for name, value in (first | changed).items() if value is not None}, *others]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "The value must be an object"),
        ({"caps": POLICY["caps"], "windwos": []}, "windwos is not known"),
        ({**POLICY, "timezone": "Nowhere"}, "timezone must be an IANA time zone"),
        ({**POLICY, "timezone": {"from": "customer.timezone"}}, "timezone.else is required."),
        ({**POLICY, "timezone": {"from": "event.name", "else": "UTC"}}, "timezone.from"),
        ({"windows": POLICY["windows"]}, "timezone is required by windows"),
        ({"caps": POLICY["caps"]}, "timezone is required by windows, and by caps of the calendar."),
        (_with("windows", key="Day"), "windows[0].key may have"),
        (_with("windows", key="push"), "windows[1].key is 'push' twice."),
        (_with("caps", key="own"), "caps[0].key must not be 'own', which is what people choose themselves."),
        (_with("windows", channels=[]), "windows[0].channels must name at least one channel."),
        (_with("windows", channels=["fax"]), "windows[0].channels[0] must be one of email"),
        (_with("windows", days=[]), "windows[0].days must name at least one day"),
        (_with("windows", days=["monday"]), "windows[0].days[0] must be one of"),
        (_with("windows", **{"from": "9:00"}), "windows[0].from must be a time of day"),
        (_with("windows", until="24:00"), "windows[0].until must be a time of day"),
        (_with("windows", until=None), "windows[0].until is required."),
        (_with("windows", spread="P2D"), "windows[0].spread must be longer than nothing"),
        (_with("windows", holidays="Bavaria"), "windows[0].holidays must be a country"),
        (_with("windows", holidays="XX"), "windows[0].holidays"),
        (_with("caps", atMost=0), "caps[0].atMost must be a whole number from 1 to 100."),
        (_with("caps", atMost=101), "caps[0].atMost must be a whole number from 1 to 100."),
        (_with("caps", per="P91D"), "caps[0].per must be longer than nothing, and at most P90D."),
        (_with("caps", per="P3D", count="calendar"), "caps[0].per must be P1D or P7D"),
        (_with("caps", topics=["news"]), "caps[0].topics[0] is 'news', which is no topic of this workspace."),
        (_with("caps", topics=[]), "caps[0].topics must name at least one topic"),
        (_with("caps", count="fixed"), "caps[0].count must be one of"),
        (_with("caps", waitAtMost="P1D"), "caps[0].waitAtMost goes with over: wait."),
        (_with("caps", over="later"), "caps[0].over must be one of"),
        ({**POLICY, "caps": [POLICY["caps"][0] | {"key": f"c{n}"} for n in range(21)]}, "caps holds 21 items"),
    ],
)
def test_every_mistake_has_its_place(value: object, message: str) -> None:
    assert any(one.startswith(message) for one in mistakes(value)), mistakes(value)


def test_all_mistakes_are_found_at_once() -> None:
    wrong = {**_with("caps", atMost=0, per="P1Y"), "windows": [{"key": "!"}], "requireTopic": 1}
    assert [one.split(" ")[0] for one in mistakes(wrong)] == [
        "requireTopic", "windows[0].channels", "windows[0].from", "windows[0].until", "windows[0].key",
        "caps[0].atMost", "caps[0].per",
    ]  # fmt: skip


def test_what_is_stored_goes_on_though_its_topic_has_gone() -> None:
    assert read(POLICY, topics=None).rules.caps[0].topics == frozenset({"offers"})
