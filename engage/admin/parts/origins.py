"""The form field for the origins that an app allows: one per line."""

from typing import Any

from django.core.exceptions import ValidationError
from django.forms import CharField
from unfold.widgets import UnfoldAdminTextareaWidget

from engage.notations.origins import HOST_IN_ASCII, is_origin, tidy_origin


class OriginsField(CharField):
    """Text with one origin per line, read as a list of origins as browsers send them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "placeholder": "https://shop.example"}),
            help_text="Origins that may call, one per line; empty allows every origin.",
            **kwargs,
        )

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = [tidy_origin(line) for line in str(value or "").splitlines()]
        return list(dict.fromkeys(line for line in lines if line))

    def validate(self, value: Any) -> None:
        for origin in value:
            if not is_origin(origin):
                raise ValidationError(
                    f"{origin} is no origin: write scheme, host and port only, as https://shop.example. {HOST_IN_ASCII}"
                )

    def run_validators(self, value: Any) -> None:
        """Runs none: a text field's validators do not fit a list."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))
