"""What follows from an answer, as one table."""

from datetime import UTC, datetime

import pytest

from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.schedule import MAX_ATTEMPTS, DeliveryVerdict, NextState, judge
from tests.support.cases import each

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = 3600.0


def answered(status: int, retry_after: str | None = None, *, milliseconds: int = 0) -> Outcome:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Outcome(at=NOW, milliseconds=milliseconds, status=status, headers=headers)


def silent(*, refused: bool = False) -> Outcome:
    return Outcome(at=NOW, milliseconds=0, error="No answer within 10 s.", refused=refused)


def verdict(outcome: Outcome, *, number: int = 1, once: bool = False, chance: float = 0.0) -> DeliveryVerdict:
    return judge(outcome, number=number, once=once, chance=chance)


@each("status", [200, 201, 202, 204, 299])
def test_a_2xx_is_delivered(status: int) -> None:
    assert verdict(answered(status)) == DeliveryVerdict(next_state=NextState.DELIVERED, reason=f"Answered {status}.")


@each("status", [408, 425, 429, 500, 501, 502, 503, 504, 599])
def test_what_may_pass_is_tried_again(status: int) -> None:
    assert verdict(answered(status)) == DeliveryVerdict(next_state=NextState.RETRIED, seconds=5.0)


def test_no_answer_is_tried_again() -> None:
    assert verdict(silent()) == DeliveryVerdict(next_state=NextState.RETRIED, seconds=5.0)


@each("status", [101, 400, 401, 403, 404, 405, 409, 410, 413, 415, 418, 422, 426, 451, 600, 999])
def test_other_answers_are_final(status: int) -> None:
    assert verdict(answered(status)) == DeliveryVerdict(next_state=NextState.FAILED, reason=f"Answered {status}.")


@each("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_is_final_and_says_so(status: int) -> None:
    reason = f"Answered {status}; redirects are not followed."
    assert verdict(answered(status)) == DeliveryVerdict(next_state=NextState.FAILED, reason=reason)


def test_what_was_refused_is_final() -> None:
    assert verdict(silent(refused=True)) == DeliveryVerdict(
        next_state=NextState.FAILED, reason="No answer within 10 s."
    )


def test_the_waits_grow_and_end_after_eight_attempts() -> None:
    verdicts = [verdict(answered(500), number=number) for number in range(1, MAX_ATTEMPTS + 1)]
    assert [one.seconds for one in verdicts[:-1]] == [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]
    assert verdicts[-1] == DeliveryVerdict(
        next_state=NextState.FAILED, reason="Given up after 8 attempts. The last one: Answered 500."
    )


def test_the_jitter_is_a_tenth_to_either_side() -> None:
    assert verdict(answered(500), number=2, chance=-1.0).seconds == pytest.approx(270)
    assert verdict(answered(500), number=2, chance=1.0).seconds == pytest.approx(330)


def test_what_is_sent_again_by_hand_is_sent_once() -> None:
    reason = "Answered 500. It was sent again once."
    assert verdict(answered(500), number=2, once=True) == DeliveryVerdict(next_state=NextState.FAILED, reason=reason)
    final = DeliveryVerdict(next_state=NextState.FAILED, reason="Answered 404.")
    assert verdict(answered(404), number=2, once=True) == final


@each(
    "retry_after, seconds",
    [
        ("7", 7.0),
        (" 120 ", 120.0),
        ("1", 5.0),
        ("0", 5.0),
        ("86400", 24 * HOUR),
        ("86401", 24 * HOUR),
        ("999999999", 24 * HOUR),
        ("Sat, 21 Nov 2026 13:00:00 GMT", HOUR),
        ("Saturday, 21-Nov-26 13:00:00 GMT", HOUR),
        ("Sat Nov 21 13:00:00 2026", HOUR),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 5.0),
        ("Mon, 21 Nov 2039 11:00:00 GMT", 24 * HOUR),
        ("-7", 5.0),
        ("7.5", 5.0),
        ("soon", 5.0),
        ("", 5.0),
        ("\u0667", 5.0),
        ("9" * 5000, 5.0),
        ("Sat, 99 Nov 2026 11:00:00 GMT", 5.0),
        ("Sat, 21 Nov 99999 11:00:00 GMT", 5.0),
        (f"Sat, 21 Nov {10**20} 11:00:00 GMT", 5.0),
        ("Sat, 21 Nov 2026 11:00:00 +9999", 5.0),
    ],
)
@each("status", [429, 503])
def test_retry_after_is_the_least_wait_up_to_a_day(retry_after: str, seconds: float, status: int) -> None:
    assert verdict(answered(status, retry_after)).seconds == seconds


def test_a_date_to_retry_after_counts_from_the_moment_of_the_answer() -> None:
    asked = answered(503, "Sat, 21 Nov 2026 13:00:00 GMT", milliseconds=10_000)
    assert verdict(asked).seconds == HOUR - 10


def test_retry_after_is_asked_of_no_final_answer() -> None:
    assert verdict(answered(404, "7")).next_state is NextState.FAILED
    assert verdict(answered(500, "7"), number=8).next_state is NextState.FAILED
