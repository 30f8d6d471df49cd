"""Parses requests that steer into what the domain takes."""

from typing import Any

from rest_framework import serializers

from engage.http.fields import BodySerializer, TextField, WholeNumberField, optional_text
from journeys.steering.holding import MOST_PER_MINUTE
from journeys.steps.exit import LONGEST_REASON

ENROLLMENTS = ("keep", "exit")


class SteerBody(BodySerializer):
    """Why it is done."""

    reason = optional_text("Why, as text. It is kept with who did it.", max_length=LONGEST_REASON)


class ResumeBody(SteerBody):
    """Why the journey goes on, and how fast."""

    perMinute = WholeNumberField(
        required=False,
        most=MOST_PER_MINUTE,
        help_text="How many of those that became due meanwhile go on in a minute. Without it, all are due at once.",
    )


class AbortBody(BodySerializer):
    """Why the journey is aborted."""

    reason = TextField(
        blank_is_absent=True,
        max_length=LONGEST_REASON,
        help_text="Why, as text. It is kept with who did it, and is part of each enrollment's exit reason.",
    )


class CancelTriggerBody(SteerBody):
    """Why the call is taken back, and what becomes of those who have entered by it."""

    enrollments = optional_text("What becomes of those who have entered by the call: `keep`, the default, or `exit`.")

    def validate_enrollments(self, value: str) -> str:
        if value not in ENROLLMENTS:
            raise serializers.ValidationError(f"must be one of {', '.join(ENROLLMENTS)}.")
        return value


def read_reason(body: Any) -> dict[str, Any]:
    """The reason, "" if there is none. Raises InvalidRequest."""
    return {"reason": "", **SteerBody.read(body)}


def read_resume(body: Any) -> dict[str, Any]:
    """The reason, and how many per minute (None: all at once). Raises InvalidRequest."""
    read = ResumeBody.read(body)
    return {"reason": read.get("reason", ""), "per_minute": read.get("perMinute")}


def read_abort(body: Any) -> dict[str, Any]:
    """The reason. Raises MissingParameter or InvalidRequest."""
    return {**AbortBody.read(body)}


def read_cancel(body: Any) -> dict[str, Any]:
    """The reason, and whether those who have entered are to leave. Raises InvalidRequest."""
    read = CancelTriggerBody.read(body)
    return {"reason": read.get("reason", ""), "exit_enrollments": read.get("enrollments") == "exit"}
