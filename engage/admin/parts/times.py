"""A time in a form: the browser's on the page (static/engage/times.js), in UTC on the wire and without scripts."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engage.admin.parts.filters import time_of


class _TimeInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(attrs={"class": "engage-input", "data-utc": True})

    def format_value(self, value: Any) -> str | None:
        time = value if isinstance(value, datetime) else time_of(value or "")
        return time.strftime("%Y-%m-%dT%H:%M") if time else None


class TimeField(forms.Field):
    """An instant, aware, or None."""

    widget = _TimeInput

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        time = time_of(value)
        if time is None:
            raise ValidationError("This is no time.")
        return time
