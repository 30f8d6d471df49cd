"""The form field for JSON."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.forms import HiddenInput, JSONField
from django.forms.fields import InvalidJSONInput
from unfold.widgets import UnfoldAdminTextareaWidget

from engage.admin.columns import json_text
from engage.json.storable import InvalidJson, parse_object, what_and_where


class _Digest(str):
    """The digest of a JSON value that a page showed."""

    __slots__ = ()


def _digest(value: Any) -> _Digest:
    return _Digest(hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest())


class _ShownJson(HiddenInput):
    """What the page showed, as a digest: a journey's steps may be long, and need not be sent twice."""

    def format_value(self, value: Any) -> Any:
        return value if value is None or isinstance(value, _Digest) else _digest(json.loads(value))

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> _Digest | None:
        return _Digest(data[name]) if data.get(name) else None


class JsonField(JSONField):
    """JSON as text, parsed as strictly as a request body and shown indented; `named` is its name in errors."""

    hidden_widget = _ShownJson

    def __init__(self, *, named: str, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"class": "engage-json", "spellcheck": "false"})
        super().__init__(widget=widget, **kwargs)
        self.named = named

    def to_python(self, value: Any) -> Any:
        if isinstance(value, _Digest):
            return value
        if value in self.empty_values:
            return None
        try:
            json.loads(value)
            return parse_object(f'{{"{self.named}": {value}}}'.encode())[self.named]
        except json.JSONDecodeError as error:
            raise ValidationError(f"{self.named} is not JSON: {what_and_where(error)}.") from None
        except RecursionError:
            raise ValidationError(f"{self.named} is nested too deeply.") from None
        except ValueError:  # Python does not parse a number with thousands of digits
            raise ValidationError(f"{self.named} holds a number that is too long.") from None
        except InvalidJson as refusal:
            raise ValidationError(refusal.message) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        if not isinstance(initial, _Digest):
            return super().has_changed(initial, data)
        try:
            return _digest(self.to_python(data)) != initial
        except ValidationError:
            return True

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Shows the input again exactly as it was typed."""
        return InvalidJSONInput(data or "")

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, InvalidJSONInput):
            return value
        return json_text(value)
