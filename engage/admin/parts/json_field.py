"""The form field for JSON."""

import json
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.forms import JSONField
from django.forms.fields import InvalidJSONInput
from unfold.widgets import UnfoldAdminTextareaWidget

from engage.admin.parts.columns import json_text
from engage.json.storable import InvalidJson, parse_object, what_and_where


class JsonField(JSONField):
    """JSON as text, parsed as strictly as a request body and shown indented; `named` is its name in errors.

    `as_written`: the order of names is kept, so another one is a change. `form` says what an author is asked for
    (engage/json/described.py), where a page's script makes a form of it, and `example` how the text may look.
    """

    def __init__(
        self,
        *,
        named: str,
        as_written: bool = False,
        form: Mapping[str, Any] | None = None,
        example: str = "",
        **kwargs: Any,
    ) -> None:
        attrs = {"class": "engage-json", "spellcheck": "false", **({"placeholder": example} if example else {})}
        super().__init__(widget=UnfoldAdminTextareaWidget(attrs=attrs), **kwargs)
        if form:
            self.offer(form)
        self.named = named
        self.as_written = as_written

    def offer(self, form: Mapping[str, Any]) -> None:
        """Has the page's script make this form."""
        self.widget.attrs["data-form"] = json.dumps(form)

    @property
    def offered(self) -> str:
        """That form, as JSON; "" if there is none."""
        return str(self.widget.attrs.get("data-form", ""))

    def to_python(self, value: Any) -> Any:
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

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Shows the input again exactly as it was typed."""
        return InvalidJSONInput(data or "")

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, InvalidJSONInput):
            return value
        return json_text(value, as_written=self.as_written)

    def has_changed(self, initial: Any, data: Any) -> bool:
        if super().has_changed(initial, data):
            return True
        return self.as_written and bool(data) and json.dumps(initial) != json.dumps(json.loads(data))
