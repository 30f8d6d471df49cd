"""What staff do to records is written to the audit, where Django would write it to a log of its own.

A record's history page reads it from there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst, get_text_list

from engage.audit.facts import SECRET, Changes, changes_between, facts_of, is_secret
from engage.audit.recording import change, record
from engage.models import AuditEntry

_PER_PAGE = 100


class AuditedAdmin(admin.ModelAdmin[Any]):
    """`audited_elsewhere`: what saves such records writes the entries itself, as it does for calls and seed files."""

    audited_elsewhere: ClassVar[bool] = False

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: FBT001, FBT002 (Django's)
        """The fields that were changed, each with what it was and what it is."""
        return _changes_in(form)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        if not self.audited_elsewhere:
            record(change(AuditEntry.Action.CREATED, obj, changes=message | changes_between({}, facts_of(obj))))

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Writes no entry for a save without changes. A text tells what was done besides saving."""
        if isinstance(message, str):
            self.note(obj, AuditEntry.Action.CHANGED, message)
        elif message and not self.audited_elsewhere:
            record(change(AuditEntry.Action.CHANGED, obj, changes=message))

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Any]) -> Any:
        if not self.audited_elsewhere:
            gone = [(obj, changes_between(facts_of(obj), {})) for obj in queryset]
            record(*(change(AuditEntry.Action.DELETED, obj, changes=changes) for obj, changes in gone))

    def response_action(self, *args: Any, **kwargs: Any) -> Any:
        """What is done to several that were chosen, and its entries, are one transaction."""
        with transaction.atomic():
            return super().response_action(*args, **kwargs)

    def note(self, obj: Model, action: AuditEntry.Action, text: str = "") -> None:
        """Writes what was done besides saving."""
        record(change(action, obj, note=text))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Shows the audit's entries where Django would show those of its own log, which stays empty."""
        own = AuditEntry.objects.filter(object_id=object_id, object_kind=self.opts.model_name).order_by("at", "id")
        paginator = Paginator(own, _PER_PAGE)
        page = paginator.get_page(request.GET.get("p", 1))
        numbers = paginator.get_elided_page_range(page.number)
        vars(page)["object_list"] = [_Told.of(entry) for entry in page.object_list]
        shown = {"action_list": page, "page_range": numbers, "pagination_required": paginator.num_pages > 1}
        return super().history_view(request, object_id, {**shown, **(extra_context or {})})


def _changes_in(form: Any) -> Changes:
    return {name: _before_and_after(form, name) for name in form.changed_data}


def _before_and_after(form: Any, name: str) -> tuple[Any, Any]:
    if is_secret(_field_of(form._meta.model if hasattr(form, "_meta") else None, name), name):
        return SECRET, SECRET
    before, after = form.get_initial_for_field(form.fields[name], name), form.cleaned_data.get(name)
    changed = changes_between({name: _plain(before)}, {name: _plain(after)})
    return changed.get(name, (None, None))


def _plain(value: Any) -> Any:
    """A chosen record, or several, by their names."""
    if isinstance(value, Model):
        return str(value)
    if isinstance(value, QuerySet | list) and all(isinstance(one, Model) for one in value):
        return sorted(map(str, value))
    return value


def _field_of(model: type[Model] | None, name: str) -> Any:
    try:
        return model._meta.get_field(name) if model else None
    except FieldDoesNotExist:
        return None


@dataclass(frozen=True)
class _Name:
    """Of who did it, as the history page asks for it."""

    get_username: str
    get_full_name: str = ""


@dataclass(frozen=True)
class _Told:
    """An entry as the history page shows it."""

    action_time: Any
    user: _Name
    get_change_message: str

    @classmethod
    def of(cls, entry: AuditEntry) -> "_Told":
        who = (
            entry.actor_name if entry.actor_kind == "staff" else f"{entry.get_actor_kind_display()} {entry.actor_name}"
        )
        return cls(action_time=entry.at, user=_Name(who.strip()), get_change_message=in_words(entry))


def in_words(entry: AuditEntry) -> str:
    """What was done, such as "Changed Name and Active (off)."."""
    if entry.note:
        return entry.note
    if entry.action == AuditEntry.Action.CHANGED and entry.changes:
        model = _model_called(entry.object_kind)
        labels = [_label(model, name, after) for name, (_, after) in entry.changes.items()]
        return f"Changed {get_text_list(labels, 'and')}."
    return f"{capfirst(entry.get_action_display())}."


@cache
def _model_called(kind: str) -> type[Model] | None:
    return next((model for model in apps.get_models() if model._meta.model_name == kind), None)


def _label(model: type[Model] | None, name: str, after: Any) -> str:
    field = _field_of(model, name)
    label = capfirst(str(field.verbose_name if field is not None else name.replace("_", " ")))
    return f"{label} ({'on' if after else 'off'})" if isinstance(after, bool) else label
