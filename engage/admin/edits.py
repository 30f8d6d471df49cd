"""An edit writes what was edited, and nothing else of what its page showed.

A page may be open while somebody else changes the record. So it brings along what it showed, in hidden inputs, one for
each field: what differs from that was edited. What differs from the record as it is now may be what somebody else has
written since.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.forms import BooleanField, Field, HiddenInput, ModelMultipleChoiceField, SplitDateTimeField, Widget
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime


class EditedFields(admin.ModelAdmin[Any]):
    """Stands last among the bases of an admin: Unfold's own call it, and then do what a button asks for.

    `stamps` are the fields that each edit writes.
    """

    stamps: ClassVar[tuple[str, ...]] = ()

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 (Django's)
        form: Any = super().get_form(request, obj, change, **kwargs)
        if not change:
            return form

        class EditForm(form):  # type: ignore[misc] # made anew for each request
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                for name, field in self.fields.items():
                    field.hidden_widget = _hidden_widget(field)
                    shown = not self.is_bound or self.add_initial_prefix(name) in self.data
                    field.show_hidden_initial = shown and not field.disabled

        return EditForm

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Above a form that was refused stands what the record is called, and not what it was to be called."""
        record = context["original"]
        if record is not None and context["adminform"].form.errors:
            context["original"] = stored = self.model.objects.filter(pk=record.pk).first() or record
            context["subtitle"] = str(stored)
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        if not change:
            super().save_model(request, obj, form, change)
        elif edited := [name for name in form.changed_data if not obj._meta.get_field(name).many_to_many]:
            obj.save(update_fields=[*edited, *self.stamps])

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        """What refers to many is written by the form, from its cleaned data."""
        if change:
            form.cleaned_data = {name: _edited(form, name) for name in form.changed_data}
        super().save_related(request, form, formsets, change)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: FBT001, FBT002 (Django's)
        """A switch is named together with what it was set to."""
        said: Any = super().construct_change_message(request, form, formsets, add)
        for change in said:
            if "changed" in change:
                named = zip(form.changed_data, change["changed"]["fields"], strict=True)
                change["changed"]["fields"] = [label + _switched(form, name) for name, label in named]
        return said

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Saving what was not changed leaves no entry."""
        return super().log_change(request, obj, message) if message else None


class _ShownMoment(HiddenInput):
    """A moment in one input, where its field has two."""

    def format_value(self, value: Any) -> Any:
        return value.isoformat() if isinstance(value, datetime) else value

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> datetime | None:
        try:
            return parse_datetime(data.get(name, ""))
        except ValueError:
            return None


class _ShownChoices(HiddenInput):
    """Several choices in one input, which is there also where there are none."""

    def format_value(self, value: Any) -> str:
        return ",".join(str(choice) for choice in value or ())

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[str]:
        return [choice for choice in data.get(name, "").split(",") if choice]


def _hidden_widget(field: Field) -> type[Widget]:
    match field:
        case SplitDateTimeField():
            return _ShownMoment
        case ModelMultipleChoiceField():
            return _ShownChoices
    return field.hidden_widget


def _edited(form: Any, name: str) -> Any:
    """The field's value. Of many it is the keys: those that are there now, without what was taken away on the page, and
    with what was added.
    """
    value, field, shown_as = form.cleaned_data[name], form.fields.get(name), form[name].html_initial_name
    if not isinstance(field, ModelMultipleChoiceField) or shown_as not in form.data:
        return value
    shown = set(_ShownChoices().value_from_datadict(form.data, form.files, shown_as))
    sent = {str(chosen.pk) for chosen in value}
    there = {str(pk) for pk in getattr(form.instance, name).values_list("pk", flat=True)}
    return [*(there - (shown - sent)) | (sent - shown)]


def _switched(form: Any, name: str) -> str:
    if not isinstance(form.fields.get(name), BooleanField):
        return ""
    return " (on)" if form.cleaned_data[name] else " (off)"
