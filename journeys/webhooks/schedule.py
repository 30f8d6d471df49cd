"""What follows from an attempt: delivered, retried after a wait, or failed for good."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus

from engage.plurals import counted
from journeys.webhooks.outcomes import Outcome

_MINUTE, _HOUR = 60.0, 3600.0
# Seconds to wait after the first attempt, the second, and so on; one more attempt follows the last wait.
WAITS = (5.0, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 10 * _HOUR)
MAX_ATTEMPTS = len(WAITS) + 1
JITTER = 0.1  # of the wait, in either direction
_LONGEST_RETRY_AFTER = 24 * _HOUR
_RETRIED = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_SECONDS = re.compile(r"\d{1,9}", re.ASCII)


class NextState(Enum):
    DELIVERED = "delivered"
    RETRIED = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class DeliveryVerdict:
    """`reason` is the delivery's result in words, empty before a retry; `seconds` is the wait before the retry."""

    next_state: NextState
    reason: str = ""
    seconds: float = 0.0


def judge(outcome: Outcome, *, number: int, once: bool, chance: float) -> DeliveryVerdict:
    """The verdict on attempt `number` (from 1). `once`: no retry follows. `chance`, from -1 to 1, is for the jitter.

    2xx is delivered. 408, 425, 429, 5xx and no answer are retried, with `Retry-After` (seconds or an HTTP date, up to
    a day) as the minimum wait; everything else is final.
    """
    if outcome.status is not None and HTTPStatus.OK <= outcome.status < HTTPStatus.MULTIPLE_CHOICES:
        return DeliveryVerdict(next_state=NextState.DELIVERED, reason=f"Answered {outcome.status}.")
    if not is_transient(outcome):
        return DeliveryVerdict(next_state=NextState.FAILED, reason=in_words(outcome))
    if once:
        return DeliveryVerdict(next_state=NextState.FAILED, reason=f"{in_words(outcome)} It was sent again once.")
    if number >= MAX_ATTEMPTS:
        return DeliveryVerdict(
            next_state=NextState.FAILED,
            reason=f"Given up after {counted(number, 'attempt')}. The last one: {in_words(outcome)}",
        )
    wait = WAITS[number - 1] * (1 + JITTER * chance)
    return DeliveryVerdict(next_state=NextState.RETRIED, seconds=max(wait, _retry_after(outcome)))


def is_transient(outcome: Outcome) -> bool:
    """Whether a later attempt may succeed: no answer came, or its status says so."""
    if outcome.status is None:
        return not outcome.refused
    return outcome.status in _RETRIED or outcome.status // 100 == HTTPStatus.INTERNAL_SERVER_ERROR // 100


def in_words(outcome: Outcome) -> str:
    """What an attempt that failed came to."""
    if outcome.status is None:
        return outcome.error
    if outcome.status // 100 == HTTPStatus.MULTIPLE_CHOICES // 100:
        return f"Answered {outcome.status}; redirects are not followed."
    return f"Answered {outcome.status}."


def _retry_after(outcome: Outcome) -> float:
    """The seconds that the answer asks to wait, at most a day; 0 if it asks for nothing readable."""
    value = (outcome.retry_after or "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), _LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(value)
        asked = (_aware(moment) - _answered_at(outcome)).total_seconds()
    except (ValueError, OverflowError):
        return 0.0
    return min(asked, _LONGEST_RETRY_AFTER)


def _answered_at(outcome: Outcome) -> datetime:
    return outcome.at + timedelta(milliseconds=outcome.milliseconds)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
