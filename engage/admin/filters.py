"""Filters of the admin's lists. None queries a table for its distinct values, lists its rows or counts them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.contrib.admin import FieldListFilter
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters import admin as unfold
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter
from unfold.contrib.filters.forms import SearchForm

from engage.admin.columns import choice_label
from engage.models import Workspace

__all__ = ["AutocompleteSelectFilter", "BooleanRadioFilter", "ChoicesDropdownFilter", "ExactFilter", "SelectFilter"]


class ExactFilter(FieldListFilter):
    """An input for the whole value of a field: a name, or the id of the record that it refers to."""

    template = "unfold/filters/filters_field.html"

    @property
    def parameter(self) -> str:
        """The same as in Django's own filters, so a link works with either kind."""
        return f"{self.field_path}__id__exact" if self.field.is_relation else self.field_path

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter]

    def value(self) -> str:
        sent: Any = self.used_parameters.get(self.parameter) or [""]
        return str(sent[-1]).strip()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        narrowed = queryset.filter(**{self.field_path: value})
        return in_workspace_of(narrowed, self.field.related_model, value) if self.field.is_relation else narrowed

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        label = f"By {self.title} id" if self.field.is_relation else f"By {self.title}"
        yield {"form": SearchForm(self.parameter, label, data={self.parameter: self.value()})}


class AutocompleteSelectFilter(unfold.AutocompleteSelectFilter):
    """A choice among the records of a small table, by name."""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Names what was chosen like the choices that its input loads."""
        for choice in super().choices(changelist):
            choice["form"].fields[self.lookup_kwarg].label_from_instance = partial(choice_label, request=self.request)
            yield choice


class SelectFilter(AutocompleteSelectFilter):
    """The same among records that have a workspace, by which it also filters."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        narrowed = super().queryset(request, queryset)
        value = self.value()
        return (
            in_workspace_of(narrowed, self.field.related_model, value) if narrowed is not None and value else narrowed
        )


def in_workspace_of(records: QuerySet[Any], model: Any, pk: str) -> QuerySet[Any]:
    """Filters also by the workspace of the record `pk`, because workspace is the first column of some indexes."""
    if model is Workspace:
        return records
    found = model.objects.filter(pk=pk).values_list("workspace_id", flat=True).first()
    return records.filter(workspace=found) if found else records
