"""`may_contact`: reach, consent, windows, caps, in this order; the first that says no decides, and says why."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from itertools import islice, permutations
from time import process_time
from typing import get_args
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from customers.contact.caps import Cap, Count, ring_with
from customers.contact.consent import GIVEN, Act, Consent, State, consent_after, consent_at, stricter
from customers.contact.deciding import (
    NO_POLICY,
    Message,
    Person,
    Policy,
    Reach,
    TopicRule,
    may_contact,
    with_own_cap,
)
from customers.contact.periods import InvalidPeriod, parse_period
from customers.contact.windows import Window, next_open, next_open_in_all

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 26, 8, 0, tzinfo=UTC)  # a Thursday, 9:00 in Berlin
OFFERS = TopicRule(key="offers", default="opted_out")
MAIL = Message(channel="email", topic=OFFERS)
ADA = Person(id="ada", zone=BERLIN, consent=Consent(State.SUBSCRIBED, NOW - timedelta(days=30)))
DAY = Window(key="day", opens=time(9), closes=time(20))
WEEK = Cap(key="week", channels=frozenset({"email"}), at_most=3, per=timedelta(days=7))


# Consent -------------------------------------------------------------------------------------------------------------

EARLY, LATE = NOW - timedelta(days=2), NOW - timedelta(days=1)


@pytest.mark.parametrize(
    ("acts", "state"),
    [
        ([], "unknown"),
        ([Act(State.SUBSCRIBED, EARLY)], "subscribed"),
        ([Act(State.SUBSCRIBED, EARLY), Act(State.UNSUBSCRIBED, LATE)], "unsubscribed"),
        ([Act(State.UNSUBSCRIBED, EARLY), Act(State.SUBSCRIBED, LATE)], "subscribed"),
        ([Act(State.UNSUBSCRIBED, LATE), Act(State.SUBSCRIBED, LATE)], "unsubscribed"),
        ([Act(State.UNSUBSCRIBED, EARLY), Act(State.SUBSCRIBED, None)], "unsubscribed"),
        ([Act(State.UNSUBSCRIBED, None), Act(State.SUBSCRIBED, None)], "unsubscribed"),
        ([Act(State.SUBSCRIBED, EARLY), Act(State.REQUESTED, LATE)], "subscribed"),
        ([Act(State.UNSUBSCRIBED, EARLY), Act(State.REQUESTED, LATE)], "requested"),
    ],
)
def test_the_state_is_that_of_the_latest_act_in_whatever_order_they_come(acts: list[Act], state: str) -> None:
    assert {consent_after(order).state for order in permutations(acts)} == {state}


acts = st.builds(Act, st.sampled_from(GIVEN), st.none() | st.sampled_from([EARLY, LATE, NOW]))


@given(st.lists(acts, max_size=6), st.sampled_from([EARLY, LATE, NOW]))
def test_an_opt_in_that_occurred_before_an_opt_out_never_wins(others: list[Act], at: datetime) -> None:
    out = Act(State.UNSUBSCRIBED, at)
    before = [one for one in others if one.at is None or one.at <= at]
    assert consent_after([*before, out]).state is State.UNSUBSCRIBED


def test_a_wish_that_was_not_confirmed_within_30_days_is_forgotten() -> None:
    wish = Consent(state=State.REQUESTED, since=NOW)
    assert consent_at(wish, NOW + timedelta(days=29)) == wish
    assert consent_at(wish, NOW + timedelta(days=30)).state is State.UNKNOWN


def test_a_pause_and_a_consent_for_a_time_end() -> None:
    paused = consent_after([Act(State.SUBSCRIBED, EARLY), Act(State.UNSUBSCRIBED, LATE, NOW)])
    assert [consent_at(paused, at).state for at in (LATE, NOW)] == ["unsubscribed", "subscribed"]
    given_for = parse_period("P2Y")
    held = Consent(State.SUBSCRIBED, datetime(2024, 2, 29, tzinfo=UTC))
    ends = datetime(2026, 2, 28, tzinfo=UTC)
    states = [consent_at(held, at, valid_for=given_for).state for at in (ends - timedelta(seconds=1), ends)]
    assert states == ["subscribed", "expired"]


@pytest.mark.parametrize("text", ["P", "2Y", "PT1H", "P0D", "P-1Y", "P11Y", "P1W", ""])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(InvalidPeriod):
        parse_period(text)


@given(st.sampled_from([*GIVEN, State.UNKNOWN]), st.sampled_from([*GIVEN, State.UNKNOWN]))
def test_of_two_who_are_merged_the_stricter_wins(one: State, other: State) -> None:
    merged = stricter(Consent(one), Consent(other)).state
    assert merged == stricter(Consent(other), Consent(one)).state
    assert merged in (one, other)
    assert State.UNSUBSCRIBED not in (one, other) or merged is State.UNSUBSCRIBED


# The decision --------------------------------------------------------------------------------------------------------

ADA_OUT = replace(ADA, consent=Consent(State.UNSUBSCRIBED, EARLY))
SAYS_NO = {
    "unsubscribed": ADA_OUT,
    "requested": replace(ADA, consent=Consent(State.REQUESTED, EARLY)),
    "unknown": replace(ADA, consent=Consent()),
    "complaint": replace(ADA, reach=frozenset({Reach.COMPLAINT})),
    "hard_bounce": replace(ADA, reach=frozenset({Reach.HARD_BOUNCE})),
    "soft_bounce": replace(ADA, reach=frozenset({Reach.SOFT_BOUNCE})),
    "invalid": replace(ADA, reach=frozenset({Reach.INVALID})),
    "manual": replace(ADA, reach=frozenset({Reach.MANUAL})),
    "erased": replace(ADA, reach=frozenset({Reach.ERASED})),
}
TRANSACTIONAL_PASSES = {"unsubscribed", "requested", "unknown", "complaint"}


@pytest.mark.parametrize("state", SAYS_NO)
def test_who_may_get_what(state: str) -> None:
    person = SAYS_NO[state]
    decision = may_contact(MAIL, person, now=NOW)
    assert decision.verdict == "skip"
    [said] = [one.state for one in decision.rules if one.rule == decision.rule]
    assert said == state
    receipt = may_contact(replace(MAIL, transactional=True), person, now=NOW)
    assert receipt.verdict == ("send" if state in TRANSACTIONAL_PASSES else "skip")
    nothing_said = may_contact(Message(channel="email"), person, now=NOW)
    assert nothing_said.verdict == ("skip" if state not in {"unsubscribed", "requested", "unknown"} else "send")


def test_nothing_is_known_of_who_has_a_relation() -> None:
    topic = replace(OFFERS, default="opted_in")
    assert may_contact(replace(MAIL, topic=topic), SAYS_NO["unknown"], now=NOW).verdict == "send"


def test_the_first_no_decides_and_all_are_told() -> None:
    person = replace(ADA_OUT, reach=frozenset({Reach.COMPLAINT}), rings={"week": [LATE] * 3})
    policy = Policy(windows={"email": [replace(DAY, opens=time(10))]}, caps=[WEEK])
    decision = may_contact(MAIL, person, policy=policy, now=NOW)
    assert [one.rule for one in decision.rules] == ["reach", "consent", "window", "cap:week"]
    assert [one.verdict for one in decision.rules] == ["skip", "skip", "wait", "skip"]
    assert (decision.rule, decision.words) == ("reach", "A message to the address was reported as unwanted.")


def test_words_have_numbers() -> None:
    ring = [NOW - timedelta(days=days) for days in (5, 3, 1)]
    decision = may_contact(MAIL, replace(ADA, rings={"week": ring}), policy=Policy(caps=[WEEK]), now=NOW)
    assert decision.words == "Over the cap 'week': 3 of 3 since 19 Nov 2026 09:00; free again 28 Nov 2026 09:00."
    assert decision.until == NOW + timedelta(days=2)


def test_at_most_weekly_holds_of_whoever_has_chosen_it() -> None:
    for ring, verdict in ([], "send"), ([LATE], "skip"), ([NOW - timedelta(days=8)], "send"):
        chosen = replace(ADA, rings={"own": ring})
        policy = with_own_cap(NO_POLICY, chosen.rings)
        assert may_contact(MAIL, chosen, policy=policy, now=NOW).verdict == verdict
        assert may_contact(replace(MAIL, transactional=True), chosen, policy=policy, now=NOW).verdict == "send"
    assert with_own_cap(NO_POLICY, {"week"}) == NO_POLICY


def test_who_waits_too_long_is_skipped_at_once() -> None:
    window = replace(DAY, opens=time(10), wait_at_most=timedelta(hours=1))
    policy = Policy(windows={"email": [window]})
    assert may_contact(MAIL, ADA, policy=policy, now=NOW).until == NOW + timedelta(hours=1)
    began = replace(MAIL, waiting_since=NOW - timedelta(minutes=1))
    late = may_contact(began, ADA, policy=policy, now=NOW)
    assert (late.verdict, late.rule) == ("skip", "window")
    assert late.words.endswith("it waits 1 hour at most.")


def test_a_transactional_message_passes_windows_and_is_counted_only_where_a_cap_says_so() -> None:
    policy = Policy(windows={"email": [replace(DAY, opens=time(10))]}, caps=[WEEK])
    full = replace(ADA, rings={"week": [LATE] * 3})
    receipt = replace(MAIL, transactional=True)
    assert may_contact(receipt, full, policy=policy, now=NOW).verdict == "send"
    strict = replace(policy, caps=[replace(WEEK, transactional=True)])
    assert may_contact(receipt, full, policy=strict, now=NOW).rule == "cap:week"


def test_caps_of_other_channels_and_topics_count_nothing() -> None:
    news = replace(WEEK, topics=frozenset({"news"}))
    push = replace(WEEK, channels=frozenset({"push"}))
    full = replace(ADA, rings={"week": [LATE] * 3})
    for cap in (news, push):
        assert may_contact(MAIL, full, policy=Policy(caps=[cap]), now=NOW).verdict == "send"


# Windows -------------------------------------------------------------------------------------------------------------

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
_DAYS = [(3, 29), (10, 25), (3, 8), (11, 1), (4, 4), (10, 3)]  # the clocks change
CHANGES = [datetime(2026, month, day, tzinfo=UTC) for month, day in _DAYS]
clocks = st.builds(time, st.integers(0, 23), st.sampled_from([0, 15, 30, 45]))


@given(
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(CHANGES),
    minutes=st.integers(-2 * 24 * 4, 2 * 24 * 4),
    opens=clocks,
    closes=clocks,
    days=st.frozensets(st.integers(0, 6), max_size=3),
)
@example(zone="UTC", day=NOW, minutes=0, opens=time(0), closes=time(0), days=frozenset())
@example(zone="Europe/Berlin", day=CHANGES[0], minutes=0, opens=time(2, 30), closes=time(3), days=frozenset())
def test_a_window_is_open_when_its_clock_says_so_and_opens_next_when_it_is_told(
    zone: str, day: datetime, minutes: int, opens: time, closes: time, days: frozenset[int]
) -> None:
    window, local = Window(key="w", opens=opens, closes=closes, days=days), ZoneInfo(zone)
    now = day + timedelta(minutes=15 * minutes)
    moment = next_open([window], local, now=now, person_id="ada")
    assert moment is not None
    spans = list(islice(window.spans(local, since=now), 2))
    opening = [begin for begin, end in spans if begin <= moment < end]
    assert opening
    if moment > now:
        assert moment == opening[0] == min(begin for begin, _ in spans)
    began = moment.astimezone(local).date()
    assert not days or {began.weekday(), (began - timedelta(days=1)).weekday()} & days


def test_a_window_across_midnight_belongs_to_the_day_on_which_it_opens() -> None:
    night = Window(key="n", opens=time(22), closes=time(2), days=frozenset({3}))  # Thursdays
    friday = datetime(2026, 11, 27, 0, 30, tzinfo=UTC)  # 1:30 in Berlin
    assert next_open([night], BERLIN, now=friday, person_id="a") == friday
    later = friday + timedelta(hours=1)
    assert next_open([night], BERLIN, now=later, person_id="a") == datetime(2026, 12, 3, 21, tzinfo=UTC)


def test_a_holiday_is_no_day_and_what_never_opens_is_never_open() -> None:
    fair = replace(DAY, holidays={NOW.date()})
    assert next_open([fair], BERLIN, now=NOW, person_id="a") == NOW + timedelta(days=1)

    class Every:
        def __contains__(self, day: object) -> bool:
            return True

    assert next_open([replace(DAY, holidays=Every())], BERLIN, now=NOW, person_id="a") is None


def test_people_are_spread_behind_an_opening_each_always_alike() -> None:
    window = replace(DAY, opens=time(10), spread=timedelta(minutes=20))
    moments = [next_open([window], BERLIN, now=NOW, person_id=f"{n}") for n in range(200)]
    opening = NOW + timedelta(hours=1)
    late = sorted((moment or NOW) - opening for moment in moments)
    assert timedelta() <= late[0] < timedelta(minutes=2)
    assert timedelta(minutes=18) < late[-1] < timedelta(minutes=20)
    assert moments == [next_open([window], BERLIN, now=NOW - timedelta(hours=3), person_id=f"{n}") for n in range(200)]
    assert next_open([window], BERLIN, now=opening, person_id="7") == opening  # it is open


def test_of_a_group_one_has_to_be_open_and_of_each_group() -> None:
    morning, evening = replace(DAY, closes=time(11)), replace(DAY, opens=time(18))
    own = replace(DAY, opens=time(12))
    moment = next_open_in_all([[morning, evening], [own]], BERLIN, now=NOW, person_id="a")
    assert moment == NOW + timedelta(hours=9)  # 18:00
    apart = [[morning], [replace(DAY, opens=time(12))]]
    assert next_open_in_all(apart, BERLIN, now=NOW, person_id="a") is None


def test_windows_that_never_meet_keep_nobody() -> None:
    many = [replace(DAY, key=f"{n}", closes=time(10, n)) for n in range(20)]
    spent = []
    for _ in range(3):
        began = process_time()
        assert next_open_in_all([many, [replace(DAY, opens=time(12))]], BERLIN, now=NOW, person_id="a") is None
        spent.append(process_time() - began)
    assert min(spent) < 0.03  # seconds; of a year's openings they were 0.08


# Caps ----------------------------------------------------------------------------------------------------------------


@given(
    sent=st.lists(st.integers(0, 14 * 24), max_size=30),
    at_most=st.integers(1, 5),
    count=st.sampled_from(get_args(Count)),
    days=st.sampled_from([1, 7]),
)
def test_no_period_ever_has_more_than_the_cap(sent: list[int], at_most: int, count: Count, days: int) -> None:
    cap = replace(WEEK, at_most=at_most, per=timedelta(days=days), count=count)
    ring: list[datetime] = []
    went: list[datetime] = []
    for hours in sorted(sent):
        now = NOW + timedelta(hours=hours)
        free = cap.free_at(ring, BERLIN, now)
        if free is None:
            ring = ring_with(ring, now, at_most=at_most)
            went.append(now)
        else:
            assert free > now
            assert cap.free_at(ring, BERLIN, free) is None
            assert cap.free_at(ring, BERLIN, free - timedelta(seconds=1)) is not None
    for now in went:
        counted = [one for one in went if cap.begin(BERLIN, now) < one <= now]
        assert len(counted) <= at_most


def test_a_calendar_s_day_is_the_person_s() -> None:
    cap = replace(WEEK, at_most=1, per=timedelta(days=1), count="calendar")
    late = datetime(2026, 11, 26, 22, 30, tzinfo=UTC)  # 23:30 in Berlin
    assert cap.free_at([late], BERLIN, late + timedelta(minutes=29)) == datetime(2026, 11, 26, 23, tzinfo=UTC)
    assert cap.free_at([late], BERLIN, late + timedelta(minutes=30)) is None
    assert cap.free_at([late], ZoneInfo("UTC"), late + timedelta(minutes=30)) is not None
