"""Saves only the fields that were edited, not everything that the page showed.

Another user may change the record while a page is open. So the page sends what it showed in hidden inputs, one per
field: a value that differs from these was edited. A comparison with the stored record would also find what others have
written since.

A record is locked from its check until it is saved. One that does not exist yet cannot be: if another user makes it
first, the form is checked again.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db import IntegrityError, connection
from django.forms import BooleanField, Field, HiddenInput, ModelMultipleChoiceField, SplitDateTimeField, Widget
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from psycopg.errors import UniqueViolation


class TakenMeanwhile(Exception):
    """Another user has saved a record that goes by the same name, after the form was checked."""


class EditedFields(admin.ModelAdmin[Any]):
    """Must be the last base class of an admin: Unfold's methods call it first, and then run a button's action.

    `stamps` are the fields that every edit writes.
    """

    stamps: ClassVar[tuple[str, ...]] = ()

    def changeform_view(self, *args: Any, **kwargs: Any) -> Any:
        """Begins anew if another user was first: the form then finds that record, and refuses its own."""
        try:
            return super().changeform_view(*args, **kwargs)
        except (IntegrityError, TakenMeanwhile) as error:
            if isinstance(error, IntegrityError) and not isinstance(error.__cause__, UniqueViolation):
                raise
            return super().changeform_view(*args, **kwargs)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """Locks the record if it is about to be saved (in a transaction): it is saved as it was checked, or is gone."""
        found = super().get_object(request, object_id, from_field)
        is_posted = request.method == "POST" and connection.in_atomic_block
        if found is None or not (is_posted and self.has_change_permission(request, found)):
            return found
        list(self.model.objects.select_for_update(no_key=True).filter(pk=found.pk).values_list("pk"))
        return super().get_object(request, object_id, from_field)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 (Django's)
        form: Any = super().get_form(request, obj, change, **kwargs)
        if not change:
            return form

        class EditForm(form):  # type: ignore[misc] # created for each request
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                for name, field in self.fields.items():
                    field.hidden_widget = _hidden_widget(field)
                    shown = not self.is_bound or self.add_initial_prefix(name) in self.data
                    field.show_hidden_initial = shown and not field.disabled

        return EditForm

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Keeps the stored name above a refused form, instead of the one that was typed."""
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
        """Limits the form's cleaned data to the edited fields, from which the form writes many-to-many fields."""
        if change:
            form.cleaned_data = {name: _edited(form, name) for name in form.changed_data}
        super().save_related(request, form, formsets, change)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: FBT001, FBT002 (Django's)
        """Adds to each changed switch whether it is now on or off."""
        said: Any = super().construct_change_message(request, form, formsets, add)
        for change in said:
            if "changed" in change:
                named = zip(form.changed_data, change["changed"]["fields"], strict=True)
                change["changed"]["fields"] = [label + _switched(form, name) for name, label in named]
        return said

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Writes no entry for a save without changes."""
        return super().log_change(request, obj, message) if message else None


class _ShownMoment(HiddenInput):
    """A point in time in one input, although its field has two."""

    def format_value(self, value: Any) -> Any:
        return value.isoformat() if isinstance(value, datetime) else value

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> datetime | None:
        try:
            return parse_datetime(data.get(name, ""))
        except ValueError:
            return None


class _ShownChoices(HiddenInput):
    """Several choices in one input, which is present even if there are none."""

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
    """The field's value. For a multiple choice, the stored keys without those removed, and with those added.

    Removed and added mean by comparison with what the page showed.
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
