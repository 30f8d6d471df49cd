"""What follows from an attempt: delivered, retried after a wait, or failed for good."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from typing import Any

from engage.notations.plurals import counted
from journeys.engine.webhooks.answers import AnswerRead
from journeys.engine.webhooks.outcomes import Outcome

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
    """`reason` is the delivery's result in words, empty before a retry; `seconds` is the wait before the retry.

    `kept` is what is kept of the answer; None before a retry, and where nothing is to be kept.
    """

    next_state: NextState
    reason: str = ""
    seconds: float = 0.0
    kept: Mapping[str, Any] | None = None


def judge(
    outcome: Outcome,
    *,
    number: int,
    once: bool,
    chance: float,
    read: AnswerRead | None = None,
    left: float = math.inf,
    endless: bool = False,
) -> DeliveryVerdict:
    """The verdict on attempt `number` (from 1). `once`: no retry follows. `chance`, from -1 to 1, is for the jitter.

    2xx is delivered, unless `read`, by the request's own rules, says something else. 408, 425, 429, 5xx and no answer
    are retried, with `Retry-After` (seconds or an HTTP date, up to a day) as the minimum wait, unless that takes longer
    than the seconds that are `left`, or the receiver asks not to; everything else is final.

    `endless`: whatever is not delivered is retried, on the last wait again and again, unless the receiver asks not to.
    """
    kept = None if read is None else read.kept
    if _is_ok(outcome, read):
        problem = "" if read is None else read.problem
        state = NextState.FAILED if problem else NextState.DELIVERED
        return DeliveryVerdict(next_state=state, reason=problem or in_words(outcome), kept=kept)
    place = min(number, len(WAITS)) if endless else number
    wait = WAITS[place - 1] * (1 + JITTER * chance) if place < MAX_ATTEMPTS else math.inf
    wait = max(wait, _retry_after(outcome))
    if reason := _why_final(outcome, read, number=number, once=once, wait=wait, left=left, endless=endless):
        return DeliveryVerdict(next_state=NextState.FAILED, reason=reason, kept=kept)
    return DeliveryVerdict(next_state=NextState.RETRIED, seconds=wait)


def _is_ok(outcome: Outcome, read: AnswerRead | None) -> bool:
    if read is not None and read.ok is not None:
        return read.ok
    return outcome.status is not None and HTTPStatus.OK <= outcome.status < HTTPStatus.MULTIPLE_CHOICES


def _why_final(
    outcome: Outcome, read: AnswerRead | None, *, number: int, once: bool, wait: float, left: float, endless: bool
) -> str:
    """Why no attempt may follow this one, which was not ok; "" if one may."""
    came = in_words(outcome)
    if read is not None and read.ok is not None:
        came += " By the rule of its step, that is not ok."
    if outcome.directive == "abort-message":
        return f"{came} Its receiver asked not to send it again."
    if not (endless or is_transient(outcome)):
        return (read and read.problem) or came
    if once:
        return f"{came} It was sent again once."
    if math.isfinite(wait) and wait <= left:
        return ""
    rule = ", as its step says (giveUpAfter)" if math.isfinite(wait) else ""
    return f"Given up after {counted(number, 'attempt')}{rule}. The last one: {came}"


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
    value = outcome.headers.get("retry-after", "").strip()
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
