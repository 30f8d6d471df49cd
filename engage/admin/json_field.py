"""The form field for JSON."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.forms import JSONField
from django.forms.fields import InvalidJSONInput
from unfold.widgets import UnfoldAdminTextareaWidget

from engage.admin.columns import json_text
from engage.storable_json import InvalidJson, parse_object


class JsonField(JSONField):
    """JSON as text, read as strictly as a request's body and written with indents; `named` is its place in errors."""

    def __init__(self, *, named: str, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"class": "engage-json", "spellcheck": "false"})
        super().__init__(widget=widget, **kwargs)
        self.named = named

    def to_python(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        try:
            json.loads(value)
            return parse_object(f'{{"{self.named}": {value}}}'.encode())[self.named]
        except json.JSONDecodeError as error:
            raise ValidationError(
                f"{self.named} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
            ) from None
        except RecursionError:
            raise ValidationError(f"{self.named} is nested too deeply.") from None
        except ValueError:  # Python reads no number of thousands of digits
            raise ValidationError(f"{self.named} holds a number that is too long.") from None
        except InvalidJson as refusal:
            raise ValidationError(refusal.message) from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was typed is shown again as it was typed."""
        return InvalidJSONInput(data or "")

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, InvalidJSONInput):
            return value
        return json_text(value)
