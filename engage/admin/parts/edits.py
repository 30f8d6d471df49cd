"""Refuses an edit of a record that somebody else has changed meanwhile.

1. The page sends a digest of what it showed along with its form.
2. The record is locked from its check until it is saved. If its digest is another by then, the form is refused, and
   says at each field that differs what is stored now. Saved once more, it counts: its user has seen both.
3. A record that does not exist yet cannot be locked: if somebody else makes it first, the form is checked again.
"""

import hashlib
from typing import Any

from django.db import IntegrityError, connection
from django.forms import BooleanField, ModelMultipleChoiceField
from django.http import HttpRequest
from psycopg.errors import UniqueViolation
from unfold.utils import display_for_value

from engage.admin.parts.audited import AuditedAdmin


class TakenMeanwhile(Exception):
    """Another user has saved a record that goes by the same name, after the form was checked."""


class CheckedEdits(AuditedAdmin):
    """Must be the last base class of an admin: Unfold's methods call it first, and then run a button's action."""

    change_form_template = "engage/admin/change_form.html"  # has the input `shown`

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
                self.shown = _digest(self)

            def full_clean(self) -> None:
                super().full_clean()
                if self.data.get("shown", self.shown) != self.shown and self.changed_data:
                    self.add_error(None, "Somebody has changed this meanwhile. Save again to keep what you see here.")
                    for name in self.changed_data:
                        self.add_error(name, f"Stored now: {_stored(self, name)}")

        return EditForm

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Keeps the stored name above a refused form, instead of the one that was typed."""
        record = context["original"]
        if record is not None and context["adminform"].form.errors:
            context["original"] = stored = self.model.objects.filter(pk=record.pk).first() or record
            context["subtitle"] = str(stored)
        return super().render_change_form(request, context, *args, **kwargs)


def _digest(form: Any) -> str:
    """The digest of the stored values of the form's fields."""
    stored: dict[str, Any] = {}
    for name, field in form.fields.items():
        if not field.disabled:
            value = form.get_initial_for_field(field, name)
            is_many = isinstance(field, ModelMultipleChoiceField)
            stored[name] = sorted(one.pk for one in value) if is_many else value
    return hashlib.sha256(repr(stored).encode()).hexdigest()


def _stored(form: Any, name: str) -> str:
    """The stored value as the page's user would write it."""
    field = form.fields[name]
    value = form.get_initial_for_field(field, name)
    if isinstance(field, BooleanField):
        return "on" if value else "off"
    if isinstance(field, ModelMultipleChoiceField):
        return ", ".join(map(str, value)) or "nothing"
    return str(display_for_value(field.prepare_value(value) or None, "nothing"))
